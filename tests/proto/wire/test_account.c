/* account: every lost datagram gets exactly one place, the best known first, and no drop of a host
 * is taken twice. */
#include "proto/wire/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/agent/probe/chance.h"

static struct counters no_counters(void)
{
    struct counters counters;

    for (size_t i = 0; i < COUNTER_COUNT; i++)
        counters.value[i] = NONE_INT;
    return counters;
}

static void drops_are(const struct counters *delta, int64_t sending, int64_t receiving)
{
    struct host_drops drops = host_drops_of(delta);

    assert_true(drops.sending == sending && drops.receiving == receiving);
}

static void what_is_unavailable_counts_as_nothing(void **state)
{
    struct counters delta = no_counters();

    (void)state;
    drops_are(&delta, 0, 0);
    delta.value[INTERFACE_TX_DROPPED] = -5; /* a counter that went backwards */
    delta.value[INTERFACE_RX_ERRORS] = -1;
    drops_are(&delta, 0, 0);
}

/* Each of these alone is the host's; those outside of the list are none of it. */
static void each_counter_is_on_its_side(void **state)
{
    static const enum counter sending[] = { QDISC_DROPPED, IP_DISCARDS_OUT, IP6_DISCARDS_OUT,
                                            INTERFACE_TX_DROPPED, INTERFACE_TX_ERRORS };
    static const enum counter receiving[] = {
        SOFTNET_DROPPED, INTERFACE_RX_DROPPED,   INTERFACE_RX_ERRORS,     IP_DISCARDS_IN,
        IP6_DISCARDS_IN, IP_REASSEMBLY_FAILURES, IP6_REASSEMBLY_FAILURES,
    };

    (void)state;
    for (int counter = 0; counter < COUNTER_COUNT; counter++) {
        struct counters delta = no_counters();
        int64_t out = 0, in = 0;

        for (size_t i = 0; i < sizeof sending / sizeof sending[0]; i++)
            out += (int)sending[i] == counter ? 7 : 0;
        for (size_t i = 0; i < sizeof receiving / sizeof receiving[0]; i++)
            in += (int)receiving[i] == counter ? 7 : 0;
        delta.value[counter] = 7;
        drops_are(&delta, out, in);
    }
}

/* The same datagram in two counters: the larger of both. */
static void one_drop_in_two_counters_is_one(void **state)
{
    struct counters delta = no_counters();

    (void)state;
    delta.value[SOFTNET_DROPPED] = 5;
    delta.value[INTERFACE_RX_DROPPED] = 8;
    delta.value[QDISC_DROPPED] = 3;
    delta.value[IP_DISCARDS_OUT] = 2;
    delta.value[IP6_DISCARDS_OUT] = 2;
    drops_are(&delta, 4, 8);
    delta.value[SOFTNET_DROPPED] = 9;
    delta.value[QDISC_DROPPED] = 6;
    delta.value[INTERFACE_TX_ERRORS] = 1;
    delta.value[IP_DISCARDS_IN] = 1;
    drops_are(&delta, 7, 10);
}

struct settled {
    int64_t lost; /* 100 were sent */
    struct socket_evidence socket;
    int64_t sending, receiving; /* of the hosts on the way */
    enum account_rest rest;
    struct lost_to expected;
    enum evidence evidence;
    int64_t sending_left, receiving_left;
};

static const struct settled settled[] = {
    { 0, { true, 0 }, 0, 0, REST_NETWORK, { 0 }, EVIDENCE_PER_SOCKET, 0, 0 },
    /* nothing was lost: what hosts dropped was others' */
    { 0, { true, 9 }, 9, 9, REST_NETWORK, { 0 }, EVIDENCE_PER_SOCKET, 9, 9 },
    { 5, { true, 5 }, 0, 0, REST_NETWORK, { .receive_buffer = 5 }, EVIDENCE_PER_SOCKET, 0, 0 },
    { 5, { true, 9 }, 0, 0, REST_NETWORK, { .receive_buffer = 5 }, EVIDENCE_PER_SOCKET, 0, 0 },
    { 5, { false, 5 }, 0, 0, REST_NETWORK, { .receive_buffer = 5 }, EVIDENCE_SYSTEM_WIDE, 0, 0 },
    { 5, { true, 0 }, 0, 0, REST_NETWORK, { .network = 5 }, EVIDENCE_PER_SOCKET, 0, 0 },
    { 5, { true, 0 }, 0, 0, REST_UNATTRIBUTED, { .unattributed = 5 }, EVIDENCE_PER_SOCKET, 0, 0 },
    { 5, { true, 0 }, 9, 9, REST_NETWORK, { .sender_host = 5 }, EVIDENCE_SYSTEM_WIDE, 4, 9 },
    { 5, { true, 0 }, 0, 9, REST_NETWORK, { .receiver_host = 5 }, EVIDENCE_SYSTEM_WIDE, 0, 4 },
    { 20,
      { true, 4 },
      5,
      6,
      REST_NETWORK,
      { .receive_buffer = 4, .sender_host = 5, .receiver_host = 6, .network = 5 },
      EVIDENCE_SYSTEM_WIDE,
      0,
      0 },
    /* a counter that went backwards gives nothing */
    { 5, { true, -3 }, -3, -3, REST_NETWORK, { .network = 5 }, EVIDENCE_PER_SOCKET, -3, -3 },
};

static void each_lost_datagram_has_the_best_known_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settled / sizeof settled[0]; i++) {
        const struct settled *row = &settled[i];
        struct host_drops sender = { .sending = row->sending, .receiving = 50 };
        struct host_drops receiver = { .sending = 50, .receiving = row->receiving };
        struct account_evidence evidence = { row->socket, &sender, &receiver, row->rest };
        struct leg leg = { .sent = 100, .received = 99 - row->lost, .late = 1 };

        assert_int_equal(account_settle(&leg, &evidence, NULL), STATUS_OK);
        assert_true(leg.lost == row->lost);
        assert_memory_equal(&leg.lost_to, &row->expected, sizeof leg.lost_to);
        assert_int_equal(leg.evidence, row->evidence);
        assert_true(sender.sending == row->sending_left && sender.receiving == 50);
        assert_true(receiver.receiving == row->receiving_left && receiver.sending == 50);
    }
}

/* Both legs of a loopback are of one host: what forward took is gone for reverse. */
static void no_drop_is_taken_twice(void **state)
{
    struct host_drops host = { .sending = 6, .receiving = 3 };
    struct account_evidence evidence = { { true, 0 }, &host, &host, REST_UNATTRIBUTED };
    struct leg forward = { .sent = 10, .received = 3 }, reverse = { .sent = 10, .received = 5 };

    (void)state;
    assert_int_equal(account_settle(&forward, &evidence, NULL), STATUS_OK);
    assert_int_equal(account_settle(&reverse, &evidence, NULL), STATUS_OK);
    assert_true(forward.lost_to.sender_host == 6 && forward.lost_to.receiver_host == 1);
    assert_true(reverse.lost_to.sender_host == 0 && reverse.lost_to.receiver_host == 2);
    assert_true(reverse.lost_to.unattributed == 3);
}

static void more_received_than_sent_is_no_account(void **state)
{
    struct host_drops host = { .sending = 6, .receiving = 3 };
    struct account_evidence evidence = { { true, 1 }, &host, &host, REST_NETWORK };
    struct leg leg = { .sent = 10, .received = 9, .late = 2, .lost = 77 };
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(account_settle(&leg, &evidence, &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "more arrived than was sent: sent 10, received 9, late 2");
    assert_true(leg.lost == 77 && host.sending == 6 && host.receiving == 3);
}

static void any_account_adds_up(void **state)
{
    struct chance chance = chance_start("account");

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct host_drops sender = { (int64_t)chance_below(&chance, 40), 0 };
        struct host_drops receiver = { 0, (int64_t)chance_below(&chance, 40) };
        struct account_evidence evidence = {
            { chance_below(&chance, 2) == 0, (int64_t)chance_below(&chance, 40) },
            &sender,
            &receiver,
            chance_below(&chance, 2) == 0 ? REST_NETWORK : REST_UNATTRIBUTED,
        };
        struct leg leg = { .sent = 200 };
        int64_t taken = sender.sending + receiver.receiving;

        leg.received = (int64_t)chance_below(&chance, 201);
        leg.late = (int64_t)chance_below(&chance, 201 - (uint64_t)leg.received);
        assert_int_equal(account_settle(&leg, &evidence, NULL), STATUS_OK);
        assert_true(leg.sent == leg.received + leg.late + leg.lost);
        assert_true(leg.lost == lost_to_total(&leg.lost_to));
        taken -= sender.sending + receiver.receiving;
        assert_true(taken == leg.lost_to.sender_host + leg.lost_to.receiver_host);
        assert_true(leg.lost_to.network == 0 || leg.lost_to.unattributed == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unavailable_counts_as_nothing),
        cmocka_unit_test(each_counter_is_on_its_side),
        cmocka_unit_test(one_drop_in_two_counters_is_one),
        cmocka_unit_test(each_lost_datagram_has_the_best_known_place),
        cmocka_unit_test(no_drop_is_taken_twice),
        cmocka_unit_test(more_received_than_sent_is_no_account),
        cmocka_unit_test(any_account_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
