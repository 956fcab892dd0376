/* Handlers may do anything, also to the very connection that they are called for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/link/channel_lab.h"

/* What a handler does, besides counting. */
struct deed {
    uint16_t port;
    unsigned left;     /* times that it is done yet */
    unsigned reaction; /* what it leads to */
    struct end *other;
};

static void close_it(struct end *end, channel_peer peer)
{
    unsigned before = end->downs;

    channel_close(end->channel, peer, "not you");
    assert_int_equal(end->downs, before + 1);
    assert_int_equal(end->last_down, peer);
    assert_int_equal(channel_send(end->channel, peer, "x", 1), STATUS_NOT_FOUND);
    channel_close(end->channel, peer, "again");
    assert_int_equal(end->downs, before + 1);
}

static void close_at_third(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    if (end->messages == 3)
        close_it(end, peer);
}

static void a_connection_is_closed_as_soon_as_it_is_up(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    controller.on_up = close_it;
    end_connect(&agent, end_listen(&controller));
    lab_until(lab, &agent.downs, 1);
    assert_string_equal(agent.last_reason, "the other side says: not you");
    assert_int_equal(controller.ups, 1);
    assert_int_equal(controller.downs, 1);
    end_done(&agent);
    end_done(&controller);
}

static void nothing_comes_after_a_close_in_a_message(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    controller.on_message = close_at_third;
    lab_join(&controller, &agent, &peer);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(channel_send(agent.channel, peer, "hello", 5), STATUS_OK);
    lab_until(lab, &agent.downs, 1);
    lab_settle(lab, 50);
    assert_int_equal(controller.messages, 3);
    assert_int_equal(controller.downs, 1);
    assert_string_equal(agent.last_reason, "the other side says: not you");
    end_done(&agent);
    end_done(&controller);
}

static void connect_again(struct end *end, channel_peer peer)
{
    struct deed *deed = end->context;

    assert_int_equal(channel_send(end->channel, peer, "x", 1), STATUS_NOT_FOUND);
    if (deed->left == 0)
        return;
    deed->left--;
    assert_true(end_connect(end, deed->port) != peer);
}

static void a_new_connection_can_begin_in_down(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    struct deed deed = { .left = 30 };

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    controller.on_up = close_it;
    agent.on_down = connect_again;
    agent.context = &deed;
    deed.port = end_listen(&controller);
    end_connect(&agent, deed.port);
    lab_until(lab, &agent.downs, 31);
    assert_int_equal(controller.downs, 31);
    assert_int_equal(channel_peers(agent.channel), 0);
    end_done(&agent);
    end_done(&controller);
}

static void a_new_connection_can_begin_in_a_down_that_a_close_calls(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    struct deed deed = { .left = 10 };
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    agent.on_down = connect_again;
    agent.context = &deed;
    deed.port = end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    for (unsigned i = 1; i <= 10; i++) {
        channel_close(agent.channel, agent.last_up, "once more");
        lab_until(lab, &agent.ups, i + 1);
    }
    lab_until(lab, &controller.downs, 10);
    assert_string_equal(controller.last_reason, "the other side says: once more");
    end_done(&agent);
    end_done(&controller);
}

static void free_it(struct end *end, channel_peer peer)
{
    (void)peer;
    end_done(end);
}

static void free_in_message(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    free_it(end, peer);
}

static void send_many(struct end *end, channel_peer peer)
{
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(channel_send(end->channel, peer, "hello", 5), STATUS_OK);
}

static void a_channel_can_be_freed_in_each_of_its_handlers(void **state)
{
    struct lab *lab = *state;

    for (unsigned which = 0; which < 3; which++) {
        struct end controller, agents;
        uint16_t port;

        end_controller(&controller, lab, NULL);
        end_agent(&agents, lab, NULL);
        controller.on_up = which == 0 ? free_it : NULL;
        controller.on_message = which == 1 ? free_in_message : NULL;
        controller.on_down = which == 2 ? free_it : NULL;
        agents.on_up = send_many;
        port = end_listen(&controller);
        for (unsigned i = 0; i < 10; i++)
            end_connect(&agents, port);
        if (which == 2) {
            lab_until(lab, &agents.ups, 10);
            channel_close(agents.channel, agents.last_up, "go");
        }
        lab_until(lab, &agents.downs, 10);
        assert_null(controller.channel);
        end_done(&agents);
    }
}

static void close_all(struct end *end, channel_peer peer, const uint8_t *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    for (channel_peer other = 1; other <= peer + 20; other++)
        channel_close(end->channel, other, "all of you");
    assert_int_equal(channel_peers(end->channel), 0);
}

static void a_message_of_one_closes_all(void **state)
{
    enum { ALL = 10 };
    struct lab *lab = *state;
    struct end controller, agents;
    uint16_t port;

    end_controller(&controller, lab, NULL);
    end_agent(&agents, lab, NULL);
    port = end_listen(&controller);
    for (unsigned i = 0; i < ALL; i++)
        end_connect(&agents, port);
    lab_until(lab, &agents.ups, ALL);
    lab_until(lab, &controller.ups, ALL);
    controller.on_message = close_all;
    assert_int_equal(channel_send(agents.channel, agents.last_up, "x", 1), STATUS_OK);
    lab_until(lab, &agents.downs, ALL);
    assert_int_equal(controller.downs, ALL);
    end_done(&agents);
    end_done(&controller);
}

static void answer_while_reading(struct end *end, channel_peer peer, const uint8_t *bytes,
                                 size_t length)
{
    uint8_t copy[5];

    assert_int_equal(length, sizeof copy);
    memcpy(copy, bytes, length);
    send_many(end, peer);
    assert_memory_equal(copy, bytes, length); /* still what came */
}

static void what_came_stays_while_it_is_answered(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    agent.on_up = send_many;
    controller.on_message = answer_while_reading;
    end_connect(&agent, end_listen(&controller));
    lab_until(lab, &agent.messages, 50 * 50);
    end_done(&agent);
    end_done(&controller);
}

static void goodbye_comes_behind_what_was_sent(void **state)
{
    struct lab *lab = *state;
    struct end controller, agent;
    channel_peer peer;

    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab, NULL);
    end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    send_many(&agent, peer);
    channel_close(agent.channel, peer, "done");
    lab_until(lab, &controller.downs, 1);
    assert_int_equal(controller.messages, 50);
    assert_string_equal(controller.last_reason, "the other side says: done");
    lab_join(&controller, &agent, &peer);
    send_many(&agent, peer);
    end_done(&agent);
    lab_until(lab, &controller.downs, 2);
    assert_int_equal(controller.messages, 100);
    end_done(&controller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_closed_as_soon_as_it_is_up),
        cmocka_unit_test(nothing_comes_after_a_close_in_a_message),
        cmocka_unit_test(a_new_connection_can_begin_in_down),
        cmocka_unit_test(a_new_connection_can_begin_in_a_down_that_a_close_calls),
        cmocka_unit_test(a_channel_can_be_freed_in_each_of_its_handlers),
        cmocka_unit_test(a_message_of_one_closes_all),
        cmocka_unit_test(what_came_stays_while_it_is_answered),
        cmocka_unit_test(goodbye_comes_behind_what_was_sent),
    };

    return cmocka_run_group_tests(tests, lab_make, lab_free);
}
