/* Each rule of a flow's answer is broken alone, and the fault names its place; what searches give
 * is accepted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/mtu_check.h"

/* What is asked for, and an answer to it: 1,400 of IPv4, with everything that there can be. */
struct answer {
    struct mtu_params params;
    struct mtu_flow flow;
};

static void add_icmp(struct mtu_flow *flow, int64_t mtu, bool accepted)
{
    struct mtu_icmp *icmp = list_append_sized(&flow->icmp, sizeof *icmp);

    *icmp = (struct mtu_icmp){ .mtu = mtu, .accepted = accepted, .count = 1 };
}

static void add_size(struct mtu_flow *flow, int64_t payload, int64_t sent, int64_t lost)
{
    *(struct mtu_size *)list_append_sized(&flow->loss_by_size, sizeof(struct mtu_size)) =
        (struct mtu_size){ payload, sent, lost };
}

static void make(struct answer *answer)
{
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    answer->params = (struct mtu_params){ FAMILY_IPV4, plan.common };
    answer->params.common.sizes = 1000;
    record_init(&mtu_flow_record, &answer->flow);
    answer->flow.source_port = 40001;
    answer->flow.outcome = MTU_FOUND;
    answer->flow.limit = MTU_LIMIT_PATH;
    answer->flow.path_mtu = 1400;
    answer->flow.next_size = 1401;
    answer->flow.confirmed = true;
    answer->flow.probes = 60;
    answer->flow.controls = 20;
    answer->flow.fragments = MTU_PASS;
    answer->flow.fragment_probes = (struct mtu_fragments){ true, 2800, 4, 3, 4, 4 };
    answer->flow.hops = (struct mtu_hops){ .present = true,
                                           .passing = 1400,
                                           .failing = 1401,
                                           .last_hop = 1,
                                           .last = "10.9.1.254",
                                           .first_hop = 2,
                                           .first = "10.9.2.2",
                                           .sent = 6,
                                           .answered = 4 };
    add_icmp(&answer->flow, 1400, true);
    add_icmp(&answer->flow, 40, false);
    add_size(&answer->flow, 548, 300, 0);
    add_size(&answer->flow, 1272, 300, 3);
    add_size(&answer->flow, 1273, 400, 80);
    answer->flow.size_effect = (struct mtu_size_effect){ .present = true,
                                                         .found = true,
                                                         .threshold = 1300,
                                                         .least = 1298,
                                                         .most = 1302,
                                                         .sent = 1000,
                                                         .lost = 83,
                                                         .sent_below = 600,
                                                         .lost_below = 3,
                                                         .sent_above = 400,
                                                         .lost_above = 80,
                                                         .low_below = 0.001,
                                                         .high_below = 0.02,
                                                         .low_above = 0.1,
                                                         .high_above = 0.3,
                                                         .seconds = 1 };
}

static struct mtu_icmp *icmp(struct answer *answer, size_t index)
{
    return (struct mtu_icmp *)answer->flow.icmp.items + index;
}

static struct mtu_size *size(struct answer *answer, size_t index)
{
    return (struct mtu_size *)answer->flow.loss_by_size.items + index;
}

/* --- what is refused ------------------------------------------------------------------------- */

struct rule {
    const char *name;
    void (*break_it)(struct mtu_flow *flow, struct mtu_params *params, struct answer *answer);
    const char *place; /* what the fault must start with, up to ':' */
};

#define BREAK(NAME, ...)                                                                           \
    static void NAME(struct mtu_flow *flow, struct mtu_params *params, struct answer *answer)      \
    {                                                                                              \
        (void)flow, (void)params, (void)answer;                                                    \
        __VA_ARGS__                                                                                \
    }

BREAK(flow_too_many, flow->flow = 1;)
BREAK(fragments_not_asked, params->common.fragments = false;)
BREAK(trace_not_asked, params->common.trace = false;)
BREAK(sizes_not_asked, params->common.sizes = 0;)
BREAK(sizes_of_another_flow, params->common.flows = 2; flow->flow = 1;)
BREAK(fragments_while_watching, params->common.watch_s = 1;)
BREAK(below_floor, flow->path_mtu = 575;)
BREAK(below_floor_asked, params->common.floor = 1401;)
BREAK(below_floor_ipv6, params->family = FAMILY_IPV6; flow->path_mtu = 1279;)
BREAK(above_ceiling, params->common.ceiling = 1399;)
BREAK(next_above_ceiling, params->common.ceiling = 1400;)
BREAK(next_is_path, flow->next_size = 1400;)
BREAK(next_below, flow->next_size = 1399;)
BREAK(confirmed_not_found, flow->outcome = MTU_EXHAUSTED;)
BREAK(found_nothing, flow->path_mtu = NONE_INT;)
BREAK(floor_failed_yet_found, flow->outcome = MTU_BELOW_FLOOR; flow->confirmed = false;)
BREAK(ceiling_with_next, flow->limit = MTU_LIMIT_CEILING;)
BREAK(path_without_next, flow->next_size = NONE_INT;)
BREAK(local_without_next, flow->next_size = NONE_INT; flow->limit = MTU_LIMIT_LOCAL;)
BREAK(port_0, flow->source_port = 0;)
BREAK(controls_lost_many, flow->controls_lost = 21;)
BREAK(controls_many, flow->controls = 61;)
BREAK(retries_many, flow->retries = 61;)
BREAK(refused_many, flow->refused = 61;)
BREAK(accepted_67, icmp(answer, 0)->mtu = 67;)
BREAK(accepted_0, icmp(answer, 1)->accepted = true; icmp(answer, 1)->mtu = 0;)
BREAK(accepted_beyond_ip, icmp(answer, 0)->mtu = LIMIT_MTU + 1;)
BREAK(accepted_1279_ipv6, params->family = FAMILY_IPV6; icmp(answer, 0)->mtu = 1279;)
BREAK(icmp_of_nothing, icmp(answer, 1)->count = 0;)
BREAK(arrived_many, flow->fragment_probes.arrived = 5;)
BREAK(small_arrived_many, flow->fragment_probes.small_arrived = 5;)
BREAK(passed_none, flow->fragment_probes.arrived = 0;)
BREAK(dropped_some, flow->fragments = MTU_DROPPED;)
BREAK(untested_some, flow->fragments = MTU_UNTESTED;)
BREAK(passed_unsent, flow->fragment_probes.present = false;)
BREAK(dropped_unsent, flow->fragment_probes.present = false; flow->fragments = MTU_DROPPED;)
BREAK(failing_passes, flow->hops.failing = 1400;)
BREAK(last_unnamed, flow->hops.last[0] = '\0';)
BREAK(first_unnamed, flow->hops.first[0] = '\0';)
BREAK(hops_answered_many, flow->hops.answered = 7;)
BREAK(lost_more_than_sent, size(answer, 1)->lost = 301;)
BREAK(sizes_disordered, size(answer, 2)->payload = 1272;)
BREAK(sizes_beyond_reason, size(answer, 0)->sent = size(answer, 1)->sent = INT64_MAX;)
BREAK(sizes_without_effect, flow->size_effect.present = false;)
BREAK(effect_without_sizes, flow->loss_by_size.count = 0;)
BREAK(sent_wrong, flow->size_effect.sent = 1001;)
BREAK(lost_wrong, flow->size_effect.lost = 82;)
BREAK(below_wrong, flow->size_effect.sent_below = 599;)
BREAK(lost_below_wrong, flow->size_effect.lost_below = 4;)
BREAK(above_wrong, flow->size_effect.sent_above = 399;)
BREAK(lost_above_wrong, flow->size_effect.lost_above = 81;)
BREAK(threshold_elsewhere, flow->size_effect.threshold = 1299;)
BREAK(threshold_below_bounds, flow->size_effect.least = 1301;)
BREAK(threshold_above_bounds, flow->size_effect.most = 1299;)
BREAK(threshold_null, flow->size_effect.threshold = NONE_INT;)
BREAK(least_null, flow->size_effect.least = NONE_INT;)
BREAK(most_null, flow->size_effect.most = NONE_INT;)
BREAK(not_found_with_threshold, flow->size_effect.found = false;)
BREAK(interval_below, flow->size_effect.high_below = 0.004;)
BREAK(interval_turned, flow->size_effect.low_above = 0.21;)
BREAK(interval_null, flow->size_effect.low_above = (double)NAN;)

#define RULE(NAME, PLACE)                                                                          \
    {                                                                                              \
#        NAME, NAME, PLACE                                                                         \
    }

static const struct rule rules[] = {
    RULE(flow_too_many, "/flow"),
    RULE(fragments_not_asked, "/fragment_probes"),
    RULE(trace_not_asked, "/hops"),
    RULE(sizes_not_asked, "/size_effect"),
    RULE(sizes_of_another_flow, "/size_effect"),
    RULE(fragments_while_watching, "/fragment_probes"),
    RULE(below_floor, "/path_mtu"),
    RULE(below_floor_asked, "/path_mtu"),
    RULE(below_floor_ipv6, "/path_mtu"),
    RULE(above_ceiling, "/path_mtu"),
    RULE(next_above_ceiling, "/next_size"),
    RULE(next_is_path, "/next_size"),
    RULE(next_below, "/next_size"),
    RULE(confirmed_not_found, "/confirmed"),
    RULE(found_nothing, "/path_mtu"),
    RULE(floor_failed_yet_found, "/path_mtu"),
    RULE(ceiling_with_next, "/limit"),
    RULE(path_without_next, "/limit"),
    RULE(local_without_next, "/limit"),
    RULE(port_0, "/source_port"),
    RULE(controls_lost_many, "/controls_lost"),
    RULE(controls_many, "/controls"),
    RULE(retries_many, "/retries"),
    RULE(refused_many, "/refused"),
    RULE(accepted_67, "/icmp/0/accepted"),
    RULE(accepted_0, "/icmp/1/accepted"),
    RULE(accepted_beyond_ip, "/icmp/0/accepted"),
    RULE(accepted_1279_ipv6, "/icmp/0/accepted"),
    RULE(icmp_of_nothing, "/icmp/1/count"),
    RULE(arrived_many, "/fragment_probes/arrived"),
    RULE(small_arrived_many, "/fragment_probes/small_arrived"),
    RULE(passed_none, "/fragments"),
    RULE(dropped_some, "/fragments"),
    RULE(untested_some, "/fragments"),
    RULE(passed_unsent, "/fragments"),
    RULE(dropped_unsent, "/fragments"),
    RULE(failing_passes, "/hops/failing"),
    RULE(last_unnamed, "/hops"),
    RULE(first_unnamed, "/hops"),
    RULE(hops_answered_many, "/hops/answered"),
    RULE(lost_more_than_sent, "/loss_by_size/1/lost"),
    RULE(sizes_disordered, "/loss_by_size/2/payload"),
    RULE(sizes_beyond_reason, "/loss_by_size"),
    RULE(sizes_without_effect, "/loss_by_size"),
    RULE(effect_without_sizes, "/size_effect/sent"),
    RULE(sent_wrong, "/size_effect/sent"),
    RULE(lost_wrong, "/size_effect/lost"),
    RULE(below_wrong, "/size_effect/sent_below"),
    RULE(lost_below_wrong, "/size_effect/lost_below"),
    RULE(above_wrong, "/size_effect/sent_above"),
    RULE(lost_above_wrong, "/size_effect/lost_above"),
    RULE(threshold_elsewhere, "/size_effect/sent_below"),
    RULE(threshold_below_bounds, "/size_effect/threshold"),
    RULE(threshold_above_bounds, "/size_effect/threshold"),
    RULE(threshold_null, "/size_effect/threshold"),
    RULE(least_null, "/size_effect/threshold"),
    RULE(most_null, "/size_effect/threshold"),
    RULE(not_found_with_threshold, "/size_effect/threshold"),
    RULE(interval_below, "/size_effect/low_below"),
    RULE(interval_turned, "/size_effect/low_above"),
    RULE(interval_null, "/size_effect/low_above"),
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

static void a_broken_rule_is_found_at_its_place(void **state)
{
    const struct rule *rule = *state;
    size_t length = strlen(rule->place);
    struct fault fault = { "" };
    struct answer answer;

    make(&answer);
    assert_int_equal(mtu_flow_check(&answer.params, &answer.flow, NULL), STATUS_OK);
    rule->break_it(&answer.flow, &answer.params, &answer);
    assert_int_equal(mtu_flow_check(&answer.params, &answer.flow, &fault), STATUS_CORRUPT);
    if (strncmp(fault.text, rule->place, length) != 0 || fault.text[length] != ':')
        fail_msg("%s: expected %s, got \"%s\"", rule->name, rule->place, fault.text);
    record_done(&mtu_flow_record, &answer.flow);
}

/* --- what is accepted ------------------------------------------------------------------------ */

BREAK(nothing_known, record_done(&mtu_flow_record, flow); record_init(&mtu_flow_record, flow);)
BREAK(ceiling_passed, flow->limit = MTU_LIMIT_CEILING; flow->next_size = NONE_INT;
      params->common.ceiling = 1400;)
BREAK(refused_here, flow->limit = MTU_LIMIT_LOCAL;)
BREAK(floor_does_not_pass, flow->outcome = MTU_BELOW_FLOOR; flow->confirmed = false;
      flow->path_mtu = NONE_INT; flow->next_size = 576;)
BREAK(cut_off, flow->outcome = MTU_UNDECIDED; flow->confirmed = false; flow->next_size = NONE_INT;)
BREAK(went_silent, flow->outcome = MTU_UNREACHABLE; flow->confirmed = false;)
BREAK(fragments_undecided, flow->fragments = MTU_UNTESTED; flow->fragment_probes.arrived = 0;)
BREAK(fragments_dropped, flow->fragments = MTU_DROPPED; flow->fragment_probes.arrived = 0;)
BREAK(hops_silent, flow->hops.last_hop = flow->hops.first_hop = 0; flow->hops.last[0] = '\0';)
BREAK(least_hints, icmp(answer, 0)->mtu = 68;)
BREAK(port_unknown, flow->source_port = NONE_INT;)
BREAK(no_threshold, size(answer, 2)->lost = 3;
      flow->size_effect = (struct mtu_size_effect){ .present = true,
                                                    .threshold = NONE_INT,
                                                    .least = NONE_INT,
                                                    .most = NONE_INT,
                                                    .sent = 1000,
                                                    .lost = 6,
                                                    .sent_below = 1000,
                                                    .lost_below = 6,
                                                    .low_below = 0.001,
                                                    .high_below = 0.02,
                                                    .low_above = (double)NAN,
                                                    .high_above = (double)NAN };)
BREAK(nothing_sent, flow->loss_by_size.count = 0;
      flow->size_effect = (struct mtu_size_effect){ .present = true,
                                                    .threshold = NONE_INT,
                                                    .least = NONE_INT,
                                                    .most = NONE_INT,
                                                    .high_below = 1,
                                                    .low_above = (double)NAN,
                                                    .high_above = (double)NAN };)

static void what_searches_give_is_accepted(void **state)
{
    static const struct rule allowed[] = {
        RULE(nothing_known, ""),       RULE(ceiling_passed, ""),    RULE(refused_here, ""),
        RULE(floor_does_not_pass, ""), RULE(cut_off, ""),           RULE(went_silent, ""),
        RULE(fragments_undecided, ""), RULE(fragments_dropped, ""), RULE(hops_silent, ""),
        RULE(least_hints, ""),         RULE(port_unknown, ""),      RULE(no_threshold, ""),
        RULE(nothing_sent, ""),
    };

    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        struct fault fault = { "" };
        struct answer answer;

        make(&answer);
        allowed[i].break_it(&answer.flow, &answer.params, &answer);
        if (mtu_flow_check(&answer.params, &answer.flow, &fault) != STATUS_OK)
            fail_msg("%s: %s", allowed[i].name, fault.text);
        record_done(&mtu_flow_record, &answer.flow);
    }
}

/* --- events ---------------------------------------------------------------------------------- */

static void events_are_of_flows_and_in_order(void **state)
{
    struct mtu_event events[] = {
        { 0, MTU_CHANGE_KNOWN, NONE_INT, 1500, 0.1 },
        { 1, MTU_CHANGE_KNOWN, NONE_INT, 1400, 0.05 },
        { 0, MTU_CHANGE_CHANGED, 1500, 1400, 20 },
        { 0, MTU_CHANGE_UNREACHABLE, 1400, NONE_INT, 30 },
    };
    const struct list list = { .items = events, .count = 4 }, none = { 0 };
    struct answer answer;
    struct fault fault = { "" };

    (void)state;
    make(&answer);
    assert_int_equal(mtu_events_check(&answer.params, &none, &fault), STATUS_OK);
    assert_int_equal(mtu_events_check(&answer.params, &list, &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "/0: nobody watched");
    answer.params.common.watch_s = 60;
    assert_int_equal(mtu_events_check(&answer.params, &list, &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "/1/flow: 1, but 1 were asked for");
    answer.params.common.flows = 2;
    assert_int_equal(mtu_events_check(&answer.params, &list, &fault), STATUS_OK);
    events[2].after_s = 0.09;
    assert_int_equal(mtu_events_check(&answer.params, &list, &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "/2/after_s: not in order of time");
    events[2].after_s = 20;
    events[3].to = 576;
    assert_int_equal(mtu_events_check(&answer.params, &list, &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "/3/to: must be null where it is unreachable");
    record_done(&mtu_flow_record, &answer.flow);
}

int main(void)
{
    struct CMUnitTest tests[RULE_COUNT + 2] = {
        cmocka_unit_test(what_searches_give_is_accepted),
        cmocka_unit_test(events_are_of_flows_and_in_order),
    };

    for (size_t i = 0; i < RULE_COUNT; i++) {
        static struct rule copies[RULE_COUNT];

        copies[i] = rules[i];
        tests[2 + i] = (struct CMUnitTest){ .name = rules[i].name,
                                            .test_func = a_broken_rule_is_found_at_its_place,
                                            .initial_state = &copies[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
