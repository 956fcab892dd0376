/* Channels keep their word to their owners: up, messages in order, down once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/memory.h"
#include "proto/wire/limits.h"
#include "tests/proto/link/channel_lab.h"

static void both_ends_know_whom_they_speak_to(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    assert_int_equal(agent.last_up, peer);
    assert_string_equal(agent.last_name, "c1");
    assert_string_equal(controller.last_name, "a1");
    assert_string_equal(agent.last_address, "127.0.0.1");
    assert_string_equal(controller.last_address, "127.0.0.1");
    controller.echo = true;
    assert_int_equal(channel_send(agent.channel, peer, "hello", 5), STATUS_OK);
    lab_until(lab, &agent.messages, 1);
    assert_int_equal(agent.bytes, 5);
    channel_close(agent.channel, peer, "enough");
    assert_int_equal(agent.downs, 1);
    assert_string_equal(agent.last_reason, "enough");
    lab_until(lab, &controller.downs, 1);
    assert_string_equal(controller.last_reason, "the other side says: enough");
    lab_settle(lab, 50);
    assert_int_equal(agent.downs + controller.downs, 2);
    assert_int_equal(channel_peers(agent.channel) + channel_peers(controller.channel), 0);
    assert_int_equal(channel_send(agent.channel, peer, "x", 1), STATUS_NOT_FOUND);
    end_done(&agent);
    end_done(&controller);
}

/* Frames of many sizes, each filled with what its place in the sequence says. */
enum { FRAMES = 60 };

struct sequence {
    unsigned next, seed;
};

static size_t size_of(unsigned place)
{
    static const size_t special[] = { 1, LIMIT_FRAME, 2, 16383, 16384, 16385, 4, LIMIT_FRAME - 1 };

    return place < sizeof special / sizeof special[0] ? special[place] : place * place * 97 + 1;
}

static void fill(uint8_t *bytes, size_t length, unsigned place)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(place * 31 + i * 7 + i / 251);
}

static void check_sequence(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    struct sequence *sequence = end->context;
    unsigned place = sequence->next++;
    uint8_t *expected = memory_new(length, 1);

    (void)peer;
    assert_int_equal(length, size_of(place));
    fill(expected, length, place);
    assert_memory_equal(bytes, expected, length);
    free(expected);
}

static void frames_of_all_sizes_come_whole_and_in_order(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    struct sequence sequence = { 0 };
    uint8_t *bytes = memory_new(LIMIT_FRAME + 1, 1);
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    controller.echo = true;
    agent.on_message = check_sequence;
    agent.context = &sequence;
    for (unsigned place = 0; place < FRAMES; place++) {
        fill(bytes, size_of(place), place);
        while (channel_pending(agent.channel, peer) + size_of(place) > LIMIT_FRAME + 65536)
            loop_turn(lab->loop, NS_PER_MS);
        assert_int_equal(channel_send(agent.channel, peer, bytes, size_of(place)), STATUS_OK);
    }
    lab_until(lab, &agent.messages, FRAMES);
    assert_int_equal(agent.bytes, controller.bytes);
    assert_int_equal(channel_send(agent.channel, peer, bytes, LIMIT_FRAME + 1), STATUS_TOO_LARGE);
    assert_int_equal(channel_send(agent.channel, peer, bytes, 1), STATUS_OK);
    end_done(&agent);
    end_done(&controller);
    free(bytes);
}

static void five_hundred_connections_leave_nothing_behind(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer, previous = 0;
    unsigned files = 0;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    for (unsigned i = 0; i < 500; i++) {
        struct end *closer = i % 2 == 0 ? &agent : &controller;

        lab_join(&controller, &agent, &peer);
        assert_true(peer > previous);
        previous = peer;
        channel_close(closer->channel, closer->last_up, "next");
        lab_until(lab, &agent.downs, i + 1);
        lab_until(lab, &controller.downs, i + 1);
        assert_int_equal(channel_peers(controller.channel), 0);
        if (i == 10)
            files = open_files();
    }
    for (unsigned i = 0; i < 100 && open_files() > files; i++)
        lab_settle(lab, 20);
    assert_true(open_files() <= files);
    assert_int_equal(channel_counts(controller.channel).up, 500);
    assert_int_equal(channel_counts(controller.channel).broken, 0);
    end_done(&agent);
    end_done(&controller);
}

static void many_connections_share_a_channel(void **state)
{
    enum { MANY = 200 };
    struct lab *lab = *state;
    struct end controller, agents;
    channel_peer peers[MANY];
    uint16_t port;

    end_controller(&controller, lab, NULL);
    end_agent(&agents, lab, NULL);
    port = end_listen(&controller);
    controller.echo = true;
    for (unsigned i = 0; i < MANY; i++)
        peers[i] = end_connect(&agents, port);
    lab_until(lab, &agents.ups, MANY);
    lab_until(lab, &controller.ups, MANY);
    assert_int_equal(channel_peers(agents.channel), MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(channel_send(agents.channel, peers[i], "hello", 5), STATUS_OK);
    lab_until(lab, &agents.messages, MANY);
    end_done(&controller); /* says bye to each */
    lab_until(lab, &agents.downs, MANY);
    assert_string_equal(agents.last_reason, "the other side says: shutting down");
    end_done(&agents);
}

/* However ZeroMQ itself would write the address. */
static void the_end_of_one_is_not_the_end_of_others(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "[::ffff:127.0.0.1]" };
    enum { MANY = 20 };
    struct lab *lab = *state;
    uint16_t port;
    int listener = raw_listen(&port);

    for (unsigned host = 0; host < sizeof hosts / sizeof hosts[0]; host++) {
        struct end agents;
        char address[64];
        int fds[MANY];

        end_agent(&agents, lab, NULL);
        snprintf(address, sizeof address, "%s:%u", hosts[host], port);
        for (unsigned i = 0; i < MANY; i++) {
            end_connect_to(&agents, address);
            fds[i] = raw_accept(lab, listener);
        }
        lab_settle(lab, 50);
        for (unsigned i = 0; i < MANY; i++) {
            raw_reset(fds[i]);
            lab_until(lab, &agents.downs, i + 1);
            lab_settle(lab, 5);
            assert_int_equal(agents.downs, i + 1);
        }
        end_done(&agents);
    }
    close(listener);
}

static void a_connection_that_is_refused_is_down_soon(void **state)
{
    struct lab *lab = *state;
    struct end agent;
    uint16_t port;
    int listener = raw_listen(&port);
    struct mono before = mono_now();

    close(listener);
    end_agent(&agent, lab, NULL);
    for (unsigned i = 1; i <= 20; i++) {
        end_connect(&agent, port);
        lab_until(lab, &agent.downs, i);
    }
    assert_int_equal(agent.downs_unborn, 20);
    assert_non_null(strstr(agent.last_reason, "no connection to 127.0.0.1:"));
    assert_true(mono_between(before, mono_now()) < 5 * NS_PER_S);
    assert_int_equal(channel_peers(agent.channel), 0);
    end_done(&agent);
}

/* localhost may be ::1 first, where nobody listens. */
static void a_name_that_led_nowhere_is_tried_the_other_way(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    char address[64];

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    snprintf(address, sizeof address, "localhost:%u", end_listen(&controller));
    for (unsigned i = 1; i <= 2 && agent.ups == 0; i++) {
        end_connect_to(&agent, address);
        while (agent.ups + agent.downs < i)
            loop_turn(lab->loop, NS_PER_S);
    }
    assert_int_equal(agent.ups, 1);
    end_done(&agent);
    end_done(&controller);
}

static void nobody_answers_for_ever(void **state)
{
    struct lab *lab = *state;
    struct end agent;
    uint16_t port;
    int listener = raw_listen(&port), fd;

    end_agent(&agent, lab, NULL);
    end_connect(&agent, port);
    fd = raw_accept(lab, listener);
    lab_settle(lab, 50);
    assert_int_equal(agent.downs, 0);
    loop_skip(lab->loop, PEER_HANDSHAKE_NS);
    lab_until(lab, &agent.downs, 1);
    assert_int_equal(agent.downs_unborn, 1);
    assert_int_equal(channel_counts(agent.channel).timeouts, 1);
    close(fd);
    close(listener);
    end_done(&agent);
}

static void a_controller_that_vanishes_is_noticed_without_a_notice(void **state)
{
    struct lab *lab = *state;
    struct end agent;
    uint16_t port;
    int listener = raw_listen(&port);

    end_agent(&agent, lab, NULL);
    for (unsigned i = 1; i <= 20; i++) {
        int fd;

        end_connect(&agent, port);
        fd = raw_accept(lab, listener);
        if (i % 2 == 0)
            lab_settle(lab, 5);
        if (i % 3 == 0)
            close(fd);
        else
            raw_reset(fd);
        lab_until(lab, &agent.downs, i);
    }
    assert_int_equal(channel_counts(agent.channel).timeouts, 0);
    close(listener);
    end_done(&agent);
}

/* The first bytes of a TLS 1.3 client: a handshake record with a ClientHello. */
static bool is_client_hello(const uint8_t *bytes)
{
    return bytes[0] == 0x16 && bytes[1] == 3 && bytes[5] == 1;
}

static void a_new_connection_carries_nothing_of_the_old(void **state)
{
    struct lab *lab = *state;
    struct end agent;
    uint16_t port;
    int listener = raw_listen(&port);
    size_t length = 0;

    end_agent(&agent, lab, NULL);
    for (unsigned i = 1; i <= 30; i++) {
        uint8_t bytes[4096];
        ssize_t got = -1;
        int fd;

        end_connect(&agent, port);
        fd = raw_accept(lab, listener);
        while (got <= 0) {
            loop_turn(lab->loop, NS_PER_MS);
            got = read(fd, bytes, sizeof bytes);
        }
        assert_true(is_client_hello(bytes));
        assert_true(length == 0 || (size_t)got == length); /* and nothing behind it */
        length = (size_t)got;
        if (i % 2 == 0)
            raw_send(fd, "\x15\x03\x03", 3); /* the beginning of an alert */
        close(fd);
        lab_until(lab, &agent.downs, i);
    }
    close(listener);
    end_done(&agent);
}

static void a_wrong_role_is_refused_with_a_reason_on_both_sides(void **state)
{
    struct lab *lab = *state;
    struct channel_rules operators = lab_rules(1U << ROLE_OPERATOR);
    struct end controller, agent;

    end_controller(&controller, lab, &operators);
    end_agent(&agent, lab, NULL);
    end_connect(&agent, end_listen(&controller));
    lab_until(lab, &agent.downs, 1);
    lab_until(lab, &controller.downs, 1);
    assert_int_equal(agent.downs_unborn + controller.downs_unborn, 2);
    assert_int_equal(agent.ups + controller.ups, 0);
    assert_non_null(strstr(agent.last_reason, "the other side says: "));
    assert_int_equal(channel_counts(controller.channel).refused_tls, 1);
    end_done(&agent);
    end_done(&controller);
}

static void listening_fails_in_words(void **state)
{
    struct lab *lab = *state;
    struct end first, second;
    char address[32];
    struct fault fault;

    end_controller(&first, lab, NULL);
    end_controller(&second, lab, NULL);
    snprintf(address, sizeof address, "127.0.0.1:%u", end_listen(&first));
    assert_int_equal(channel_listen(second.channel, address, &fault), STATUS_EXISTS);
    assert_non_null(strstr(fault.text, address));
    /* An address for documentation: nobody has it. */
    assert_int_equal(channel_listen(second.channel, "192.0.2.1:7862", &fault), STATUS_AGAIN);
    assert_int_equal(channel_listen(second.channel, "nonsense", &fault), STATUS_INVALID);
    assert_int_equal(channel_listen(second.channel, "127.0.0.1:port", &fault), STATUS_INVALID);
    assert_int_equal(channel_listen(second.channel, "0.0.0.0:0", &fault), STATUS_OK);
    end_done(&second);
    end_done(&first);
    end_agent(&first, lab, NULL);
    assert_int_equal(channel_connect(first.channel,
                                     &(struct channel_target){ .address = "nonsense" },
                                     &(channel_peer){ 0 }, &fault),
                     STATUS_INVALID);
    assert_int_equal(channel_peers(first.channel), 0);
    end_done(&first);
}

static void pings_keep_a_silent_connection(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    for (unsigned i = 0; i < 15; i++) {
        uint64_t here = channel_counts(agent.channel).bytes_in;
        uint64_t there = channel_counts(controller.channel).bytes_in;

        loop_skip(lab->loop, PEER_PING_NS);
        while (channel_counts(agent.channel).bytes_in == here ||
               channel_counts(controller.channel).bytes_in == there)
            loop_turn(lab->loop, NS_PER_S);
    }
    assert_int_equal(agent.downs + controller.downs, 0);
    assert_int_equal(agent.messages + controller.messages, 0);
    loop_skip(lab->loop, PEER_IDLE_NS);
    lab_until(lab, &agent.downs, 1);
    lab_until(lab, &controller.downs, 1);
    assert_int_equal(channel_counts(agent.channel).timeouts, 1);
    end_done(&agent);
    end_done(&controller);
}

static void an_idle_connection_sleeps(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer;
    uint64_t before;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    lab_settle(lab, 200);
    before = loop_turns(lab->loop);
    lab_settle(lab, 1000);
    assert_true(loop_turns(lab->loop) - before <= 3);
    end_done(&agent);
    end_done(&controller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_know_whom_they_speak_to),
        cmocka_unit_test(frames_of_all_sizes_come_whole_and_in_order),
        cmocka_unit_test(five_hundred_connections_leave_nothing_behind),
        cmocka_unit_test(many_connections_share_a_channel),
        cmocka_unit_test(the_end_of_one_is_not_the_end_of_others),
        cmocka_unit_test(a_connection_that_is_refused_is_down_soon),
        cmocka_unit_test(a_name_that_led_nowhere_is_tried_the_other_way),
        cmocka_unit_test(nobody_answers_for_ever),
        cmocka_unit_test(a_controller_that_vanishes_is_noticed_without_a_notice),
        cmocka_unit_test(a_new_connection_carries_nothing_of_the_old),
        cmocka_unit_test(a_wrong_role_is_refused_with_a_reason_on_both_sides),
        cmocka_unit_test(listening_fails_in_words),
        cmocka_unit_test(pings_keep_a_silent_connection),
        cmocka_unit_test(an_idle_connection_sleeps),
    };

    return cmocka_run_group_tests(tests, lab_make, lab_free);
}
