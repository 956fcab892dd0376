/* What path_mtu found out must stand in a report, none of it lost or made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "agent/probe/path_mtu_report.h"

static struct addr host_of(const char *text)
{
    struct addr addr;

    assert_int_equal(addr_parse_host(text, &addr, NULL), STATUS_OK);
    return addr;
}

/* What can be read again, as both ends read it. */
static void check_flow(const struct mtu_flow *flow)
{
    struct fault fault = { "" };

    if (record_check(&mtu_flow_record, flow, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* --- the plan --------------------------------------------------------------------------------- */

static struct mtu_params params_of(enum family family)
{
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    return (struct mtu_params){ .family = family, .common = plan.common };
}

static void defaults_are_the_instruments_own(void **state)
{
    const enum family families[] = { FAMILY_IPV4, FAMILY_IPV6 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct mtu_params params = params_of(families[i]);
        const struct path_mtu_plan own = path_mtu_plan_of(families[i]);
        const struct path_mtu_plan plan = path_mtu_plan_from(&params);

        assert_int_equal(plan.floor, own.floor);
        assert_int_equal(plan.ceiling, own.ceiling);
        assert_int_equal(plan.guess, 0);
        assert_int_equal(plan.tries, own.tries);
        assert_int_equal(plan.budget, own.budget);
        assert_int_equal(plan.pace, own.pace);
        assert_int_equal(plan.check_ns, own.check_ns);
        assert_int_equal(plan.raise_ns, own.raise_ns);
        assert_true(plan.fragments && plan.trace && plan.watch_s == 0 && plan.sizes == 0);
        assert_int_equal(path_mtu_check(&plan, families[i], 1500, NULL), STATUS_OK);
    }
}

static void what_is_asked_for_is_in_the_plan(void **state)
{
    const struct mtu_params params = { .family = FAMILY_IPV4,
                                       .common = { .floor = 600,
                                                   .ceiling = 9000,
                                                   .tries = 5,
                                                   .budget = 700,
                                                   .pace = 50000,
                                                   .sizes = 20000,
                                                   .watch_s = 1.5,
                                                   .check_s = 0.1,
                                                   .raise_s = 86400 } };
    const struct path_mtu_plan plan = path_mtu_plan_from(&params);

    (void)state;
    assert_int_equal(plan.floor, 600);
    assert_int_equal(plan.ceiling, 9000);
    assert_int_equal(plan.tries, 5);
    assert_int_equal(plan.budget, 700);
    assert_int_equal(plan.pace, 50000);
    assert_int_equal(plan.sizes, 20000);
    assert_true(plan.watch_s == 1.5);
    assert_int_equal(plan.check_ns, 100 * NS_PER_MS);
    assert_int_equal(plan.raise_ns, 86400 * NS_PER_S);
    assert_true(!plan.fragments && !plan.trace);
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, 1500, NULL), STATUS_OK);
}

/* --- a flow ----------------------------------------------------------------------------------- */

static const struct path_mtu_fragments fragments = { .arrive = PATH_MTU_PASS,
                                                     .size = 2800,
                                                     .sent = 10,
                                                     .arrived = 9,
                                                     .small_sent = 10,
                                                     .small_arrived = 8 };

static const struct path_mtu_trace trace = { .traced = true,
                                             .passing = 1400,
                                             .failing = 1401,
                                             .last_hops = 1,
                                             .first_hops = 2,
                                             .first_is_peer = true,
                                             .sent = 20,
                                             .answered = 11 };

static struct path_mtu_flow found_flow(void)
{
    struct path_mtu_flow flow = {
        .opened = true,
        .source_port = 40001,
        .search = { .outcome = SEARCH_FOUND,
                    .limit = SEARCH_LIMIT_PATH,
                    .path_mtu = 1400,
                    .next_size = 1401,
                    .hinted = true,
                    .datagrams = 90,
                    .controls = 12,
                    .controls_lost = 2,
                    .retries = 30,
                    .refused = 3,
                    .rtt_ns = 1234567 },
        .seconds = 0.25,
        .local_mtu = 9000,
        .kernel_before = 9000,
        .kernel = 1400,
        .icmp_count = 2,
        .icmp_missed = 7,
        .odd_answers = 1,
        .fragments = fragments,
        .trace = trace,
    };

    flow.icmp[0] = (struct path_mtu_icmp){ .from = host_of("10.9.2.254"),
                                           .mtu = 1400,
                                           .quote = MTU_QUOTE_MATCHED,
                                           .judged = SEARCH_PTB_HINT,
                                           .count = 4 };
    flow.icmp[1] = (struct path_mtu_icmp){ .from = host_of("2001:db8::7"),
                                           .mtu = UINT32_MAX,
                                           .quote = MTU_QUOTE_FOREIGN,
                                           .judged = SEARCH_PTB_UNKNOWN,
                                           .count = 1 };
    flow.trace.last = host_of("10.9.1.254");
    flow.trace.first = host_of("10.9.2.2");
    addr_set_port(&flow.trace.first, 7862);
    return flow;
}

static void a_flow_keeps_all_that_was_found(void **state)
{
    struct path_mtu_flow flow = found_flow();
    struct mtu_flow out;

    (void)state;
    path_mtu_flow_report(&flow, 3, &out);
    check_flow(&out);
    assert_int_equal(out.flow, 3);
    assert_int_equal(out.source_port, 40001);
    assert_int_equal(out.outcome, MTU_FOUND);
    assert_int_equal(out.limit, MTU_LIMIT_PATH);
    assert_int_equal(out.path_mtu, 1400);
    assert_int_equal(out.next_size, 1401);
    assert_true(out.confirmed);
    assert_int_equal(out.local_mtu, 9000);
    assert_int_equal(out.kernel_before, 9000);
    assert_int_equal(out.kernel_path_mtu, 1400);
    assert_int_equal(out.probes, 90);
    assert_int_equal(out.retries, 30);
    assert_int_equal(out.refused, 3);
    assert_int_equal(out.controls, 12);
    assert_int_equal(out.controls_lost, 2);
    assert_int_equal(out.rtt_ns, 1234567);
    assert_true(out.seconds == 0.25);
    assert_int_equal(out.odd_answers, 1);
    assert_false(out.size_effect.present);
    record_done(&mtu_flow_record, &out);
}

static void who_says_so_is_a_host_and_what_is_made_of_it_a_word(void **state)
{
    struct path_mtu_flow flow = found_flow();
    const struct mtu_icmp *icmp;
    struct mtu_flow out;

    (void)state;
    flow.unreachable = 2;
    flow.unreachable_kind = ERROR_NO_PORT;
    flow.unreachable_from = host_of("fd00::1");
    path_mtu_flow_report(&flow, 0, &out);
    check_flow(&out);
    icmp = out.icmp.items;
    assert_int_equal(out.icmp.count, 2);
    assert_string_equal(icmp[0].from, "10.9.2.254");
    assert_true(icmp[0].accepted);
    assert_string_equal(icmp[0].judged, "accepted");
    assert_int_equal(icmp[0].count, 4);
    assert_string_equal(icmp[1].from, "2001:db8::7");
    assert_false(icmp[1].accepted);
    assert_string_equal(icmp[1].judged, "not sent by us");
    assert_int_equal(out.icmp_missed, 7);
    assert_int_equal(out.unreachable, 2);
    assert_string_equal(out.unreachable_kind, "port unreachable");
    assert_string_equal(out.unreachable_from, "fd00::1");
    record_done(&mtu_flow_record, &out);
}

static void fragments_and_hops_are_null_when_nobody_asked(void **state)
{
    struct path_mtu_flow flow = found_flow();
    struct mtu_flow out;

    (void)state;
    path_mtu_flow_report(&flow, 0, &out);
    assert_int_equal(out.fragments, MTU_PASS);
    assert_true(out.fragment_probes.present);
    assert_int_equal(out.fragment_probes.size, 2800);
    assert_int_equal(out.fragment_probes.arrived, 9);
    assert_int_equal(out.fragment_probes.small_arrived, 8);
    assert_true(out.hops.present && out.hops.first_is_peer);
    assert_int_equal(out.hops.passing, 1400);
    assert_int_equal(out.hops.failing, 1401);
    assert_int_equal(out.hops.last_hop, 1);
    assert_string_equal(out.hops.last, "10.9.1.254");
    assert_int_equal(out.hops.first_hop, 2);
    assert_string_equal(out.hops.first, "10.9.2.2");
    record_done(&mtu_flow_record, &out);

    flow.fragments = (struct path_mtu_fragments){ .size = 0 };
    flow.trace = (struct path_mtu_trace){ .traced = false };
    path_mtu_flow_report(&flow, 0, &out);
    check_flow(&out);
    assert_int_equal(out.fragments, MTU_UNTESTED);
    assert_false(out.fragment_probes.present || out.hops.present);
    record_done(&mtu_flow_record, &out);
}

static void what_is_not_known_is_null(void **state)
{
    struct path_mtu_flow flow = { .source_port = NONE_INT,
                                  .search = { .outcome = SEARCH_UNREACHABLE },
                                  .seconds = -1,
                                  .local_mtu = NONE_INT,
                                  .kernel_before = NONE_INT,
                                  .kernel = NONE_INT };
    struct mtu_flow out;

    (void)state;
    path_mtu_flow_report(&flow, 0, &out);
    check_flow(&out);
    assert_int_equal(out.outcome, MTU_UNREACHABLE);
    assert_int_equal(out.source_port, NONE_INT);
    assert_int_equal(out.path_mtu, NONE_INT);
    assert_int_equal(out.next_size, NONE_INT);
    assert_int_equal(out.rtt_ns, NONE_INT);
    assert_int_equal(out.local_mtu, NONE_INT);
    assert_int_equal(out.kernel_path_mtu, NONE_INT);
    assert_false(out.confirmed);
    assert_true(out.seconds == 0);
    assert_string_equal(out.unreachable_kind, "");
    record_done(&mtu_flow_record, &out);
}

static void each_outcome_has_its_word_and_one_alone_is_confirmed(void **state)
{
    static const struct {
        enum search_outcome is;
        const char *name;
    } outcomes[] = {
        { SEARCH_UNDECIDED, "undecided" },     { SEARCH_FOUND, "found" },
        { SEARCH_BELOW_FLOOR, "below_floor" }, { SEARCH_UNREACHABLE, "unreachable" },
        { SEARCH_UNSTABLE, "unstable" },       { SEARCH_EXHAUSTED, "exhausted" },
    };

    (void)state;
    for (int i = 0; i < SEARCH_OUTCOME_COUNT; i++) {
        struct path_mtu_flow flow = found_flow();
        struct mtu_flow out;

        flow.search.outcome = outcomes[i].is;
        path_mtu_flow_report(&flow, 0, &out);
        assert_string_equal(mtu_outcome_names[out.outcome], outcomes[i].name);
        assert_int_equal(out.confirmed, outcomes[i].is == SEARCH_FOUND);
        record_done(&mtu_flow_record, &out);
    }
}

static void loss_by_size_changes_hands(void **state)
{
    struct path_mtu_flow flow = found_flow();
    struct mtu_size *size = list_append_sized(&flow.loss_by_size, sizeof *size);
    const void *items = size;
    struct mtu_flow out;

    (void)state;
    *size = (struct mtu_size){ .payload = 1372, .sent = 100, .lost = 3 };
    flow.size_effect = (struct mtu_size_effect){ .present = true,
                                                 .threshold = NONE_INT,
                                                 .least = NONE_INT,
                                                 .most = NONE_INT,
                                                 .sent = 100,
                                                 .lost = 3,
                                                 .sent_below = 100,
                                                 .lost_below = 3,
                                                 .low_below = 0.01,
                                                 .high_below = 0.08,
                                                 .low_above = NAN,
                                                 .high_above = NAN,
                                                 .seconds = 2 };
    path_mtu_flow_report(&flow, 0, &out);
    check_flow(&out);
    assert_ptr_equal(out.loss_by_size.items, items);
    assert_int_equal(out.size_effect.lost, 3);
    assert_null(flow.loss_by_size.items);
    path_mtu_flows_done(&flow, 1); /* nothing is left to free */
    record_done(&mtu_flow_record, &out);
}

/* --- events, and what was answered ------------------------------------------------------------ */

static void an_event_tells_the_time_since_the_beginning(void **state)
{
    const struct mono began = { 100 * NS_PER_S };
    struct search_event event = { SEARCH_EVENT_CHANGED, 1500, 1400, { 102 * NS_PER_S } };
    struct mtu_event out;

    (void)state;
    path_mtu_event_report(5, &event, began, &out);
    assert_int_equal(out.flow, 5);
    assert_int_equal(out.change, MTU_CHANGE_CHANGED);
    assert_int_equal(out.from, 1500);
    assert_int_equal(out.to, 1400);
    assert_true(out.after_s == 2);
    event = (struct search_event){ SEARCH_EVENT_KNOWN, 0, 1400, { 99 * NS_PER_S } };
    path_mtu_event_report(0, &event, began, &out);
    assert_int_equal(out.change, MTU_CHANGE_KNOWN);
    assert_int_equal(out.from, NONE_INT);
    assert_true(out.after_s == 0);
    event = (struct search_event){ SEARCH_EVENT_UNREACHABLE, 1400, 0, { 101 * NS_PER_S } };
    path_mtu_event_report(0, &event, began, &out);
    assert_int_equal(out.change, MTU_CHANGE_UNREACHABLE);
    assert_int_equal(out.to, NONE_INT);
    assert_int_equal(record_check(&mtu_event_record, &out, NULL), STATUS_OK);
}

static void what_was_answered_is_a_difference(void **state)
{
    const struct path_mtu_answered none = { .answered = 0 };
    const struct path_mtu_answered before = { .answered = 3, .foreign = 5, .largest = 112 };
    const struct path_mtu_answered after = { .fragments_told = true,
                                             .answered = 53,
                                             .in_fragments = 2,
                                             .reassembled = 4,
                                             .cut = 6,
                                             .foreign = 5,
                                             .largest = 1372,
                                             .answers_refused = 8 };
    struct mtu_answered out;

    (void)state;
    path_mtu_answered_report(&before, &after, FAMILY_IPV4, &out);
    assert_true(out.present && out.fragments_told);
    assert_int_equal(out.answered, 50);
    assert_int_equal(out.in_fragments, 2);
    assert_int_equal(out.reassembled, 4);
    assert_int_equal(out.damaged, 6);
    assert_int_equal(out.foreign, 0);
    assert_int_equal(out.largest, 1400);
    assert_int_equal(out.refused, 8);
    path_mtu_answered_report(&none, &after, FAMILY_IPV6, &out);
    assert_int_equal(out.answered, 53);
    assert_int_equal(out.largest, 1420);
    path_mtu_answered_report(&after, &after, FAMILY_IPV4, &out);
    assert_true(out.present);
    assert_int_equal(out.answered, 0);
    assert_int_equal(out.largest, NONE_INT);
    assert_int_equal(record_check(&mtu_answered_record, &out, NULL), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_instruments_own),
        cmocka_unit_test(what_is_asked_for_is_in_the_plan),
        cmocka_unit_test(a_flow_keeps_all_that_was_found),
        cmocka_unit_test(who_says_so_is_a_host_and_what_is_made_of_it_a_word),
        cmocka_unit_test(fragments_and_hops_are_null_when_nobody_asked),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(each_outcome_has_its_word_and_one_alone_is_confirmed),
        cmocka_unit_test(loss_by_size_changes_hands),
        cmocka_unit_test(an_event_tells_the_time_since_the_beginning),
        cmocka_unit_test(what_was_answered_is_a_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
