/* Every account must add up, and no drop may stand in for two datagrams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/probe/ledger.h"
#include "tests/agent/probe/chance.h"

static void assert_adds_up(const struct leg *leg)
{
    const struct lost_to *to = &leg->lost_to;

    assert_int_equal(leg->attempted, leg->sent + refused_total(&leg->refused));
    assert_int_equal(leg->sent, leg->received + leg->late + leg->lost);
    assert_int_equal(leg->lost, to->receive_buffer + to->sender_host + to->receiver_host +
                                    to->network + to->unattributed);
    assert_true(leg->lost >= 0 && to->receive_buffer >= 0 && to->sender_host >= 0 &&
                to->receiver_host >= 0 && to->network >= 0 && to->unattributed >= 0);
}

static struct leg leg_of(int64_t sent, int64_t received)
{
    return (struct leg){ .attempted = sent, .sent = sent, .received = received };
}

static void refuses_by_cause(void **state)
{
    static const int errors[] = { EAGAIN, ENOBUFS, EMSGSIZE, EPERM, EACCES, ECONNREFUSED, EIO };
    struct leg leg = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        ledger_refuse(&leg, errors[i]);
    assert_int_equal(leg.refused.eagain, 1);
    assert_int_equal(leg.refused.enobufs, 1);
    assert_int_equal(leg.refused.emsgsize, 1);
    assert_int_equal(leg.refused.eperm, 2);
    assert_int_equal(leg.refused.econnrefused, 1);
    assert_int_equal(leg.refused.other, 1);
    assert_int_equal(leg.attempted, 7);
    assert_int_equal(leg.sent, 0);
    assert_adds_up(&leg);
}

static void takes_back_an_earlier_datagram(void **state)
{
    struct leg leg = leg_of(2, 0);

    (void)state;
    ledger_refuse_earlier(&leg);
    ledger_refuse_earlier(&leg);
    assert_int_equal(leg.sent, 0);
    assert_int_equal(leg.refused.econnrefused, 2);
    ledger_refuse_earlier(&leg); /* of another phase: nothing here to take back */
    assert_int_equal(leg.refused.econnrefused, 2);
    assert_int_equal(leg.attempted, 2);
    assert_adds_up(&leg);
}

static void enters_each_arrival_once(void **state)
{
    struct leg in_time = { 0 };
    struct leg late = { 0 };

    (void)state;
    for (int arrival = ARRIVAL_NEW; arrival <= ARRIVAL_BEYOND; arrival++) {
        ledger_arrive(&in_time, (enum arrival)arrival, false);
        ledger_arrive(&late, (enum arrival)arrival, true);
    }
    assert_true(in_time.received == 2 && in_time.late == 0);
    assert_true(late.received == 0 && late.late == 2);
    assert_true(in_time.reordered == 1 && late.reordered == 1);
    assert_true(in_time.duplicates == 1 && late.duplicates == 1);
    assert_true(in_time.foreign == 1 && late.foreign == 1);
    assert_true(in_time.corrupt == 0 && in_time.sent == 0 && in_time.attempted == 0);
}

/* A leg is int64_t throughout but for one enum: every count must be in the sum. */
static void merges_every_count(void **state)
{
    struct leg whole = { 0 };
    const struct leg part = { .attempted = 1,
                              .refused = { 2, 3, 4, 5, 6, 7 },
                              .sent = 8,
                              .received = 9,
                              .late = 10,
                              .duplicates = 11,
                              .reordered = 12,
                              .corrupt = 13,
                              .foreign = 14 };

    (void)state;
    ledger_merge(&whole, &part);
    assert_memory_equal(&whole, &part, sizeof part);
    ledger_merge(&whole, &part);
    assert_int_equal(whole.attempted, 2);
    assert_int_equal(refused_total(&whole.refused), 54);
    assert_int_equal(whole.sent + whole.received + whole.late, 54);
    assert_int_equal(whole.duplicates + whole.reordered + whole.corrupt + whole.foreign, 100);
}

static void sums_a_hosts_drops_once(void **state)
{
    struct counters delta;
    struct host_drops drops;

    (void)state;
    counters_init(&delta);
    drops = host_drops_of(&delta);
    assert_int_equal(drops.sending, 0);
    assert_int_equal(drops.receiving, 0);
    delta.value[QDISC_DROPPED] = 17;
    delta.value[IP_DISCARDS_OUT] = 12; /* what the qdisc did not take, said by the layer above */
    delta.value[IP6_DISCARDS_OUT] = 5;
    delta.value[INTERFACE_TX_DROPPED] = 100;
    delta.value[INTERFACE_TX_ERRORS] = 1000;
    delta.value[SOFTNET_DROPPED] = 3;
    delta.value[INTERFACE_RX_DROPPED] = 4; /* the same, said by the device */
    delta.value[INTERFACE_RX_ERRORS] = 10;
    delta.value[IP_DISCARDS_IN] = 20;
    delta.value[IP6_DISCARDS_IN] = 30;
    delta.value[IP_REASSEMBLY_FAILURES] = 100;
    delta.value[IP6_REASSEMBLY_FAILURES] = 200;
    delta.value[UDP_RECEIVE_BUFFER_FULL] = 1 << 20; /* the sockets' own counts say this better */
    drops = host_drops_of(&delta);
    assert_int_equal(drops.sending, 1117);
    assert_int_equal(drops.receiving, 364);
    delta.value[IP_DISCARDS_OUT] = 40;
    assert_int_equal(host_drops_of(&delta).sending, 1145);
}

static void finds_each_place(void **state)
{
    static const struct {
        int64_t socket, sending, receiving; /* what was seen */
        struct lost_to lost_to;             /* of 10 lost */
        enum evidence evidence;
    } cases[] = {
        { 0, 0, 0, { 0, 0, 0, 0, 10 }, EVIDENCE_PER_SOCKET },
        { 10, 0, 0, { 10, 0, 0, 0, 0 }, EVIDENCE_PER_SOCKET },
        { 10, 9, 9, { 10, 0, 0, 0, 0 }, EVIDENCE_PER_SOCKET },
        { 900, 9, 9, { 10, 0, 0, 0, 0 }, EVIDENCE_PER_SOCKET },
        { 0, 10, 0, { 0, 10, 0, 0, 0 }, EVIDENCE_SYSTEM_WIDE },
        { 0, 900, 900, { 0, 10, 0, 0, 0 }, EVIDENCE_SYSTEM_WIDE },
        { 0, 0, 10, { 0, 0, 10, 0, 0 }, EVIDENCE_SYSTEM_WIDE },
        { 4, 3, 2, { 4, 3, 2, 0, 1 }, EVIDENCE_SYSTEM_WIDE },
        { 4, 0, 0, { 4, 0, 0, 0, 6 }, EVIDENCE_PER_SOCKET },
        { -4, -3, -2, { 0, 0, 0, 0, 10 }, EVIDENCE_PER_SOCKET },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct leg leg = leg_of(100, 90);
        const struct socket_evidence socket = { true, cases[i].socket };
        struct host_drops sender = { .sending = cases[i].sending, .receiving = 50 };
        struct host_drops receiver = { .sending = 50, .receiving = cases[i].receiving };

        assert_int_equal(account_settle(&leg,
                                        &(struct account_evidence){ socket, &sender, &receiver,
                                                                    REST_UNATTRIBUTED },
                                        NULL),
                         STATUS_OK);
        assert_memory_equal(&leg.lost_to, &cases[i].lost_to, sizeof leg.lost_to);
        assert_int_equal(leg.evidence, cases[i].evidence);
        assert_int_equal(sender.receiving, 50);
        assert_int_equal(receiver.sending, 50);
        assert_adds_up(&leg);
    }
}

static void says_when_a_count_is_the_systems(void **state)
{
    struct leg leg = leg_of(10, 10);
    struct host_drops none = { 0 };

    (void)state;
    assert_int_equal(
        account_settle(&leg,
                       &(struct account_evidence){ (struct socket_evidence){ false, 3 }, &none,
                                                   &none, REST_UNATTRIBUTED },
                       NULL),
        STATUS_OK);
    assert_int_equal(leg.evidence, EVIDENCE_SYSTEM_WIDE);
    assert_int_equal(leg.lost, 0);
}

/* On loopback one host is the sender and the receiver of both legs. */
static void takes_no_drop_twice(void **state)
{
    const struct socket_evidence none = { true, 0 };
    struct host_drops host = { .sending = 7, .receiving = 5 };
    struct leg forward = leg_of(100, 90);
    struct leg reverse = leg_of(90, 80);

    (void)state;
    assert_int_equal(
        account_settle(&forward,
                       &(struct account_evidence){ none, &host, &host, REST_UNATTRIBUTED }, NULL),
        STATUS_OK);
    assert_int_equal(
        account_settle(&reverse,
                       &(struct account_evidence){ none, &host, &host, REST_UNATTRIBUTED }, NULL),
        STATUS_OK);
    assert_int_equal(forward.lost_to.sender_host + reverse.lost_to.sender_host, 7);
    assert_int_equal(forward.lost_to.receiver_host + reverse.lost_to.receiver_host, 5);
    assert_int_equal(forward.lost_to.unattributed + reverse.lost_to.unattributed, 8);
    assert_int_equal(host.sending, 0);
    assert_int_equal(host.receiving, 0);
}

static void will_not_have_more_arrive_than_was_sent(void **state)
{
    const struct socket_evidence none = { true, 0 };
    struct host_drops host = { 1, 1 };
    struct leg leg = { .attempted = 9, .sent = 9, .received = 8, .late = 2 };
    const struct leg before = leg;
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(
        account_settle(&leg, &(struct account_evidence){ none, &host, &host, REST_UNATTRIBUTED },
                       &fault),
        STATUS_CORRUPT);
    assert_string_equal(fault.text, "more arrived than was sent: sent 9, received 8, late 2");
    assert_memory_equal(&leg, &before, sizeof leg);
    assert_true(host.sending == 1 && host.receiving == 1);
}

/* A sender, a path and a receiver at random: what each counts must make one account. */
static struct leg random_leg(struct chance *chance, int64_t *out_missing)
{
    static const int errors[] = { EAGAIN, ENOBUFS, EMSGSIZE, EPERM, ECONNREFUSED, EIO };
    struct leg leg = { 0 };
    int64_t missing = 0;

    for (uint64_t i = chance_below(chance, 300); i > 0; i--) {
        uint64_t fate = chance_below(chance, 12);

        if (fate == 0) {
            ledger_refuse(&leg, errors[chance_below(chance, 6)]);
            continue;
        }
        leg.attempted++;
        leg.sent++;
        if (fate == 1)
            ledger_refuse_earlier(&leg);
        else if (fate == 2)
            missing++;
        else
            ledger_arrive(&leg, fate == 3 ? ARRIVAL_REORDERED : ARRIVAL_NEW, fate == 4);
        if (fate == 5)
            ledger_arrive(&leg, ARRIVAL_DUPLICATE, false);
    }
    *out_missing = missing;
    return leg;
}

static void adds_up_whatever_happens(void **state)
{
    struct chance chance = chance_start("ledger");

    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t missing;
        struct leg leg = random_leg(&chance, &missing);
        const struct socket_evidence socket = { i % 2, (int64_t)chance_below(&chance, 20) };
        struct host_drops host = { (int64_t)chance_below(&chance, 20),
                                   (int64_t)chance_below(&chance, 20) };
        const struct host_drops before = host;

        assert_int_equal(
            account_settle(
                &leg, &(struct account_evidence){ socket, &host, &host, REST_UNATTRIBUTED }, NULL),
            STATUS_OK);
        assert_int_equal(leg.lost, missing);
        assert_adds_up(&leg);
        assert_true(leg.lost_to.receive_buffer <= socket.drops);
        assert_int_equal(leg.lost_to.sender_host, before.sending - host.sending);
        assert_int_equal(leg.lost_to.receiver_host, before.receiving - host.receiving);
        assert_true(host.sending >= 0 && host.receiving >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_by_cause),
        cmocka_unit_test(takes_back_an_earlier_datagram),
        cmocka_unit_test(enters_each_arrival_once),
        cmocka_unit_test(merges_every_count),
        cmocka_unit_test(sums_a_hosts_drops_once),
        cmocka_unit_test(finds_each_place),
        cmocka_unit_test(says_when_a_count_is_the_systems),
        cmocka_unit_test(takes_no_drop_twice),
        cmocka_unit_test(will_not_have_more_arrive_than_was_sent),
        cmocka_unit_test(adds_up_whatever_happens),
    };

    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
