/* An echo's end must answer whom it agreed with, each datagram once, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/digest.h"
#include "tests/agent/probe/ends.h"
#include "tests/agent/probe/stage.h"

/* A sender by hand: the order's key, and sockets that say what they like. */
struct hand {
    struct ends *ends;
    struct digest_key key;
    struct pattern pattern;
    struct session session; /* of the measure phase */
    struct hello hello;
    int fd;
    uint8_t bytes[PAYLOAD_MAX_IPV4 + 1];
};

static int socket_on(const char *address, const struct addr *target)
{
    struct addr local;
    int fd;

    assert_int_equal(addr_parse(address, &local, NULL), STATUS_OK);
    if (socket_open(&local, &fd, &local, NULL) != STATUS_OK)
        skip(); /* macOS has 127.0.0.1 alone */
    assert_int_equal(socket_connect(fd, target, NULL), STATUS_OK);
    return fd;
}

static struct hand *hand_new(const struct end_order *order)
{
    struct hand *hand = calloc(1, sizeof *hand);

    assert_non_null(hand);
    hand->ends = ends_echo(order, "127.0.0.1:0");
    hand->fd = socket_on("127.0.0.1:0", &hand->ends->target);
    digest_key_init(&hand->key, order->key, sizeof order->key);
    pattern_init(&hand->pattern, session_seed(order->key));
    session_init(&hand->session, (uint16_t)(order->ssid + PART_MEASURE),
                 (size_t)order->params.payload,
                 &(struct session_ground){ .format = { STAMP_AUTHENTICATED, &hand->key },
                                           .pattern = &hand->pattern,
                                           .timebase = { wall_now(), mono_now() } });
    return hand;
}

static void hand_free(struct hand *hand)
{
    close(hand->fd);
    ends_free(hand->ends);
    free(hand);
}

/* The next datagram of the agreement, sent from `fd`; in hand->bytes. */
static void say(struct hand *hand, int fd)
{
    uint8_t random[12];

    digest_random(random, sizeof random);
    hand->hello.next_at = mono_now();
    assert_true(hello_send(&hand->hello, random, mono_now(), hand->bytes));
    stage_send(fd, hand->bytes, HELLO_SIZE);
}

static void hear(struct hand *hand, int fd)
{
    uint8_t bytes[HELLO_SIZE + 1];
    size_t length = stage_receive(fd, bytes, sizeof bytes);

    assert_int_equal(length, HELLO_SIZE); /* never more than was asked with */
    assert_true(hello_receive(&hand->hello, bytes, length, mono_now()));
}

static void agree(struct hand *hand)
{
    hello_init(&hand->hello, &hand->key, hand->ends->order.ssid, mono_now());
    ends_greet(hand->ends);
    say(hand, hand->fd);
    hear(hand, hand->fd);
    say(hand, hand->fd);
    hear(hand, hand->fd);
    assert_true(hand->hello.agreed);
    ends_still(hand->ends);
}

static size_t make_request(struct hand *hand, const struct session *session, uint32_t sequence)
{
    const struct stamp_request request = { .sequence = sequence,
                                           .timestamp = session_timestamp(session, mono_now()),
                                           .error_estimate = session->error_estimate,
                                           .ssid = session->ssid };

    stamp_put_request(&session->ground.format, &request, session->payload, hand->bytes);
    memcpy(hand->bytes + session->head, pattern_slice(session->ground.pattern, sequence),
           session->payload - session->head);
    return session->payload;
}

static void assert_silent(int fd)
{
    assert_false(stage_readable(fd, 0));
}

/* A request of the running phase is answered; as nothing overtakes on loopback, whatever was sent
 * before it has been looked at by then. Returns the reply's own number. */
static uint32_t ask(struct hand *hand, uint32_t sequence)
{
    struct stamp_reply reply;
    size_t length = make_request(hand, &hand->session, sequence);

    stage_send(hand->fd, hand->bytes, length);
    assert_int_equal(stage_receive(hand->fd, hand->bytes, sizeof hand->bytes), length);
    assert_int_equal(session_get_reply(&hand->session, hand->bytes, length, &reply), SESSION_OWN);
    assert_true(session_reply_intact(&hand->session, &reply, hand->bytes));
    assert_int_equal(reply.sender_sequence, sequence);
    return reply.sequence;
}

static bool nobody(void *context, const struct addr *host)
{
    ++*(int *)context;
    (void)host;
    return false;
}

static void asks_who_may_be_its_guest(void **state)
{
    struct end_order order = ends_order(112);
    struct hand *hand = hand_new(&order);
    int asked = 0;
    const struct echo_end_place place = { .bind_to = addr_loopback(FAMILY_IPV4, 0),
                                          .may_guest = nobody,
                                          .context = &asked };
    struct addr target;

    (void)state;
    echo_end_free(hand->ends->echo);
    assert_int_equal(echo_end_new(&order, &place, &hand->ends->echo, NULL), STATUS_OK);
    target = addr_loopback(FAMILY_IPV4, echo_end_port(hand->ends->echo));
    assert_int_equal(socket_connect(hand->fd, &target, NULL), STATUS_OK);
    hello_init(&hand->hello, &hand->key, order.ssid, mono_now());
    say(hand, hand->fd);
    echo_end_wait(hand->ends->echo, -1, 50 * NS_PER_MS);
    assert_int_equal(asked, 1);
    assert_silent(hand->fd);
    hand_free(hand);
}

static void says_nothing_to_what_is_no_hello(void **state)
{
    struct end_order order = ends_order(112);
    struct hand *hand = hand_new(&order);
    struct digest_key wrong;
    size_t length = make_request(hand, &hand->session, 0);

    (void)state;
    ends_greet(hand->ends);
    stage_send(hand->fd, hand->bytes, length); /* of a phase that has not begun */
    for (size_t cut = 0; cut < HELLO_SIZE; cut += 37)
        stage_send(hand->fd, hand->bytes, cut);
    digest_key_init(&wrong, "wrong", 5);
    hello_init(&hand->hello, &wrong, order.ssid, mono_now());
    say(hand, hand->fd);
    memset(hand->bytes, 0xff, sizeof hand->bytes);
    stage_send(hand->fd, hand->bytes, 60000);
    hello_init(&hand->hello, &hand->key, order.ssid, mono_now());
    say(hand, hand->fd);
    stage_send(hand->fd, hand->bytes, HELLO_SIZE - 1);
    hear(hand, hand->fd); /* the answer to the one hello, and nothing before it or behind it */
    ends_still(hand->ends);
    assert_silent(hand->fd);
    hand_free(hand);
}

static void answers_each_datagram_once(void **state)
{
    struct end_order order = ends_order(300);
    struct hand *hand = hand_new(&order);
    size_t length;

    (void)state;
    agree(hand);
    ends_echo_phase(hand->ends, PHASE_MEASURE);
    assert_int_equal(ask(hand, 0), 0);
    length = make_request(hand, &hand->session, 0);
    for (int i = 0; i < 100; i++) /* somebody has recorded it */
        stage_send(hand->fd, hand->bytes, length);
    assert_int_equal(ask(hand, 2), 1);
    assert_int_equal(ask(hand, 1), 2);
    assert_silent(hand->fd);
    ends_still(hand->ends);
    assert_int_equal(hand->ends->echoed.forward.received, 3);
    assert_int_equal(hand->ends->echoed.forward.duplicates, 100);
    assert_int_equal(hand->ends->echoed.forward.reordered, 1);
    assert_int_equal(hand->ends->echoed.reverse.sent, 3);
    assert_int_equal(hand->ends->echoed.first_burst, 3);
    hand_free(hand);
}

/* Cut and altered, byte by byte; returns how many that were. */
static int64_t send_damaged(struct hand *hand, uint32_t sequence)
{
    int64_t sent = 0;

    for (size_t cut = 0; cut < 300; cut += 23, sent++) {
        make_request(hand, &hand->session, sequence);
        stage_send(hand->fd, hand->bytes, cut);
    }
    for (size_t at = 0; at < STAMP_AUTHENTICATED_SIZE; at++, sent++) {
        make_request(hand, &hand->session, sequence);
        hand->bytes[at] ^= 1;
        stage_send(hand->fd, hand->bytes, 300);
    }
    return sent;
}

static void send_as(struct hand *hand, const struct session *session, uint32_t sequence)
{
    stage_send(hand->fd, hand->bytes, make_request(hand, session, sequence));
}

/* Of other phases, of an old session's key, without authentication, a byte longer. */
static int64_t send_strange(struct hand *hand, uint32_t sequence)
{
    const uint16_t first = hand->ends->order.ssid;
    struct session other;
    struct digest_key old;

    for (int part = 0; part < PART_MEASURE; part++) {
        session_init(&other, (uint16_t)(first + part), 300, &hand->session.ground);
        send_as(hand, &other, sequence);
    }
    digest_key_init(&old, "an old session's", 16);
    other = hand->session;
    other.ground.format.key = &old;
    send_as(hand, &other, sequence);
    other = hand->session;
    other.ground.format = (struct stamp_format){ STAMP_PLAIN, NULL };
    other.head = stamp_head_size(STAMP_PLAIN, 300);
    send_as(hand, &other, sequence);
    session_init(&other, hand->session.ssid, 301, &hand->session.ground);
    send_as(hand, &other, sequence);
    return PART_MEASURE + 3;
}

/* Everything is sent between two good ones, and only those are answered. */
static void answers_nothing_that_is_not_of_its_phase(void **state)
{
    struct end_order order = ends_order(300);
    struct hand *hand = hand_new(&order);
    int64_t foreign, corrupt = 0;

    (void)state;
    agree(hand);
    ends_echo_phase(hand->ends, PHASE_MEASURE);
    ask(hand, 0);
    stage_send(hand->fd, hand->bytes, 300); /* its reply, sent back */
    foreign = 1 + send_damaged(hand, 1) + send_strange(hand, 1);
    for (size_t at = STAMP_AUTHENTICATED_SIZE; at < 300; at += 47, corrupt++) { /* padding */
        make_request(hand, &hand->session, 1);
        hand->bytes[at] ^= 1;
        stage_send(hand->fd, hand->bytes, 300);
    }
    ask(hand, 1);
    ends_still(hand->ends);
    assert_silent(hand->fd);
    assert_int_equal(hand->ends->echoed.forward.received, 2);
    assert_int_equal(hand->ends->echoed.forward.foreign, foreign);
    assert_int_equal(hand->ends->echoed.forward.corrupt, corrupt);
    assert_int_equal(hand->ends->echoed.reverse.attempted, 2);
    hand_free(hand);
}

/* A repeat of the agreement is nothing to be told of, and gets no answer; with a payload of a
 * hello's size, and with another one. */
static void ignores_hellos_while_a_phase_runs(void **state)
{
    static const int64_t payloads[] = { 112, 300 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct end_order order = ends_order(payloads[i]);
        struct hand *hand = hand_new(&order);

        agree(hand);
        ends_echo_phase(hand->ends, PHASE_MEASURE);
        ask(hand, 0);
        hand->hello.agreed = false;
        say(hand, hand->fd); /* the confirm again */
        hello_init(&hand->hello, &hand->key, order.ssid, mono_now());
        say(hand, hand->fd);
        ask(hand, 1);
        ends_still(hand->ends);
        assert_silent(hand->fd);
        assert_int_equal(hand->ends->echoed.forward.received, 2);
        assert_int_equal(hand->ends->echoed.forward.foreign, 0);
        hand_free(hand);
    }
}

/* 127.0.0.2 stands for a spoofed address: it said hello, with the key, and nobody there confirmed.
 */
static void who_has_not_confirmed_gets_nothing_but_hellos(void **state)
{
    struct end_order order = ends_order(112);
    struct hand *hand = hand_new(&order);
    int spoofed;

    (void)state;
    echo_end_free(hand->ends->echo);
    free(hand->ends);
    hand->ends = ends_echo(&order, "0.0.0.0:0");
    assert_int_equal(addr_parse("127.0.0.1:0", &hand->ends->target, NULL), STATUS_OK);
    addr_set_port(&hand->ends->target, echo_end_port(hand->ends->echo));
    assert_int_equal(socket_connect(hand->fd, &hand->ends->target, NULL), STATUS_OK);
    spoofed = socket_on("127.0.0.2:0", &hand->ends->target);
    ends_greet(hand->ends);
    hello_init(&hand->hello, &hand->key, order.ssid, mono_now());
    say(hand, spoofed);
    hear(hand, spoofed);
    ends_still(hand->ends);
    agree(hand);
    ends_echo_phase(hand->ends, PHASE_MEASURE);
    for (uint32_t i = 0; i < 50; i++)
        stage_send(spoofed, hand->bytes, make_request(hand, &hand->session, i));
    ask(hand, 0);
    ends_still(hand->ends);
    assert_silent(spoofed);
    assert_int_equal(hand->ends->echoed.forward.foreign, 50);
    assert_int_equal(hand->ends->echoed.reverse.attempted, 1);
    close(spoofed);
    hand_free(hand);
}

static void serves_as_many_flows_as_the_case_has_clients(void **state)
{
    enum { CLIENTS = 3 };
    struct end_order order = ends_order(150);
    struct hand *hand;
    int fds[CLIENTS + 1];

    (void)state;
    order.params.common.clients = CLIENTS;
    order.params.common.io_threads = 2;
    hand = hand_new(&order);
    agree(hand);
    ends_echo_phase(hand->ends, PHASE_MEASURE);
    for (int i = 0; i <= CLIENTS; i++) {
        fds[i] = socket_on("127.0.0.1:0", &hand->ends->target);
        stage_send(fds[i], hand->bytes, make_request(hand, &hand->session, 0));
        assert_int_equal(stage_readable(fds[i], i < CLIENTS ? STAGE_WAIT_MS : 100), i < CLIENTS);
    }
    ends_still(hand->ends);
    assert_int_equal(hand->ends->echoed.forward.received, CLIENTS);
    assert_int_equal(hand->ends->echoed.forward.foreign, 1);
    assert_int_equal(hand->ends->echoed.first_burst, CLIENTS);
    for (int i = 0; i <= CLIENTS; i++)
        close(fds[i]);
    hand_free(hand);
}

static void is_silent_when_a_phase_is_over(void **state)
{
    struct end_order order = ends_order(112);
    struct hand *hand = hand_new(&order);

    (void)state;
    agree(hand);
    ends_echo_phase(hand->ends, PHASE_MEASURE);
    ask(hand, 0);
    ends_still(hand->ends);
    ends_greet(hand->ends);
    for (uint32_t i = 1; i < 20; i++)
        stage_send(hand->fd, hand->bytes, make_request(hand, &hand->session, i));
    assert_false(stage_readable(hand->fd, 100));
    ends_still(hand->ends);
    hand_free(hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_who_may_be_its_guest),
        cmocka_unit_test(says_nothing_to_what_is_no_hello),
        cmocka_unit_test(answers_each_datagram_once),
        cmocka_unit_test(answers_nothing_that_is_not_of_its_phase),
        cmocka_unit_test(ignores_hellos_while_a_phase_runs),
        cmocka_unit_test(who_has_not_confirmed_gets_nothing_but_hellos),
        cmocka_unit_test(serves_as_many_flows_as_the_case_has_clients),
        cmocka_unit_test(is_silent_when_a_phase_is_over),
    };

    return cmocka_run_group_tests_name("echo_end", tests, NULL, NULL);
}
