/* Loss by size between two ends on loopback, through a relay that loses what a rule says: found
 * where size matters, not found where it does not, and always with an end. Real paths:
 * tests/netns/test_path_mtu_sizes.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/path_mtu_report.h"
#include "agent/probe/size_loss.h"
#include "tests/agent/probe/meeting.h"

enum { CEILING = 1500, EDGE = 1440, LOSSY_TENTH = 10, SIZES = 4000, HEADERS = 28 };

static struct path_mtu_plan plan_of(enum family family)
{
    struct path_mtu_plan plan = path_mtu_plan_of(family);

    plan.fragments = plan.trace = false;
    plan.ceiling = CEILING;
    plan.sizes = SIZES;
    return plan;
}

static bool has_size(const struct path_mtu_flow *flow, int64_t payload)
{
    const struct mtu_size *sizes = flow->loss_by_size.items;

    for (size_t i = 0; i < flow->loss_by_size.count; i++)
        if (sizes[i].payload == payload)
            return true;
    return false;
}

/* The sizes are what the effect sums up, in order, and within the plan. */
static void check_sums(const struct path_mtu_flow *flow, int64_t floor)
{
    const struct mtu_size_effect *effect = &flow->size_effect;
    const struct mtu_size *sizes = flow->loss_by_size.items;
    int64_t sent = 0, lost = 0, headers = addr_family(&flow->peer) == FAMILY_IPV4 ? 28 : 48;

    assert_true(effect->present);
    for (size_t i = 0; i < flow->loss_by_size.count; i++) {
        assert_true(sizes[i].payload >= floor - headers);
        assert_true(sizes[i].payload <= flow->search.path_mtu - headers);
        assert_true(i == 0 || sizes[i].payload > sizes[i - 1].payload);
        sent += sizes[i].sent;
        lost += sizes[i].lost;
    }
    assert_int_equal(sent, effect->sent);
    assert_int_equal(lost, effect->lost);
    assert_int_equal(effect->sent, effect->sent_below + effect->sent_above);
    assert_int_equal(effect->lost, effect->lost_below + effect->lost_above);
}

/* Also as it is reported. */
static void let_go(struct path_mtu_flow *flow)
{
    struct fault fault = { "" };
    struct mtu_flow reported;

    path_mtu_flow_report(flow, 0, &reported);
    meeting_need(record_check(&mtu_flow_record, &reported, &fault), &fault);
    record_done(&mtu_flow_record, &reported);
}

/* --- what is found ---------------------------------------------------------------------------- */

/* Which one of ten is another for each size: else those that are sent only a few times would lose
 * nothing. */
static struct relay_fate lossy_above(const struct relay_item *item)
{
    bool lost = item->length + HEADERS > EDGE && (item->number + item->length) % LOSSY_TENTH == 0;

    return (struct relay_fate){ .copies = !lost };
}

static void loss_above_a_size_is_found_in_both_directions(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, lossy_above);

    (void)state;
    for (int forward = 0; forward < 2; forward++) {
        struct path_mtu_flow flow;

        meeting_probe(&meeting, forward, &plan, &flow);
        assert_int_equal(flow.search.path_mtu, CEILING);
        check_sums(&flow, plan.floor);
        assert_true(flow.size_effect.found);
        /* With a fifth of the default budget. */
        assert_in_range(flow.size_effect.threshold, EDGE - 16, EDGE + 16);
        assert_true(flow.size_effect.least <= flow.size_effect.threshold &&
                    flow.size_effect.threshold <= flow.size_effect.most);
        assert_true(flow.size_effect.low_above > flow.size_effect.high_below);
        assert_true(flow.size_effect.seconds > 0);
        assert_int_equal(flow.odd_answers, 0);
        let_go(&flow);
    }
    meeting_end(&meeting);
}

/* Every tenth of each size, and what is not lost comes late and out of order, twice. */
static struct relay_fate lossy_alike(const struct relay_item *item)
{
    bool lost = item->number % LOSSY_TENTH == LOSSY_TENTH / 2;

    return (struct relay_fate){ .copies = lost ? 0 : 2,
                                .delay_ns = (int64_t)(item->number % 3) * NS_PER_MS };
}

static void loss_of_all_sizes_is_none_of_size(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, lossy_alike);
    struct path_mtu_flow flow;

    (void)state;
    meeting_probe(&meeting, true, &plan, &flow);
    check_sums(&flow, plan.floor);
    assert_false(flow.size_effect.found);
    assert_int_equal(flow.size_effect.threshold, NONE_INT);
    assert_true(isnan(flow.size_effect.low_above));
    assert_int_equal(flow.size_effect.sent, SIZES);
    assert_in_range(flow.size_effect.lost, SIZES / 10 - 50, SIZES / 10 + 50);
    let_go(&flow);
    meeting_end(&meeting);
}

/* More than the shortest wait, all of a sudden. */
static struct relay_fate suddenly_slow(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = 1,
                                .delay_ns = item->number < 1000 ? 0 : 270 * NS_PER_MS };
}

static void what_comes_late_is_waited_for_longer(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, suddenly_slow);
    struct path_mtu_flow flow;

    (void)state;
    plan.sizes = 1280;
    meeting_probe(&meeting, true, &plan, &flow);
    check_sums(&flow, plan.floor);
    assert_int_equal(flow.size_effect.sent, plan.sizes);
    assert_in_range(flow.size_effect.lost, 1, 150); /* the first that were late, alone */
    assert_false(flow.size_effect.found);
    assert_int_equal(flow.odd_answers, 0);
    let_go(&flow);
    meeting_end(&meeting);
}

static void the_first_of_many_flows_alone_is_measured(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV6);
    struct meeting meeting = meeting_begin(FAMILY_IPV6, 3, NULL);
    struct path_mtu_flow flows[3];

    (void)state;
    plan.sizes = 500;
    meeting_probe(&meeting, false, &plan, flows);
    check_sums(&flows[0], plan.floor);
    assert_int_equal(flows[0].size_effect.sent, 512); /* whole blocks */
    assert_true(has_size(&flows[0], plan.floor - 48) && has_size(&flows[0], CEILING - 48));
    for (int i = 1; i < 3; i++) {
        assert_int_equal(flows[i].search.outcome, SEARCH_FOUND);
        assert_false(flows[i].size_effect.present);
        assert_int_equal(flows[i].loss_by_size.count, 0);
    }
    path_mtu_flows_done(flows, 3);
    meeting_end(&meeting);
}

/* No datagram has 113 to 115 bytes of payload. */
static void sizes_that_no_datagram_has_are_left_out(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, NULL);
    const int64_t smallest = HEADERS + MTU_ANSWER_SIZE;
    struct path_mtu_flow flow;

    (void)state;
    plan.sizes = 64;
    plan.ceiling = smallest + 14;
    for (plan.floor = smallest; plan.floor <= smallest + 4; plan.floor++) {
        meeting_probe(&meeting, true, &plan, &flow);
        check_sums(&flow, plan.floor);
        assert_int_equal(flow.size_effect.sent, 64);
        assert_int_equal(has_size(&flow, MTU_ANSWER_SIZE), plan.floor == smallest);
        assert_true(has_size(&flow, MTU_ANSWER_SIZE + 4));
        let_go(&flow);
    }
    meeting_end(&meeting);
}

/* --- what is not measured ----------------------------------------------------------------------
 */

static void check_nothing_sent(const struct path_mtu_flow *flow)
{
    assert_true(flow->size_effect.present);
    assert_false(flow->size_effect.found);
    assert_int_equal(flow->size_effect.sent, 0);
    assert_int_equal(flow->loss_by_size.count, 0);
}

static struct relay_fate nothing_large(const struct relay_item *item)
{
    (void)item;
    return (struct relay_fate){ .copies = 0 };
}

static void without_two_sizes_that_pass_nothing_is_sent(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, NULL);
    struct path_mtu_flow flow;

    (void)state;
    plan.floor = CEILING;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.search.path_mtu, CEILING);
    check_nothing_sent(&flow);
    let_go(&flow);
    meeting_end(&meeting);

    meeting = meeting_begin(FAMILY_IPV4, 1, nothing_large);
    plan.floor = 576;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.search.outcome, SEARCH_BELOW_FLOOR);
    check_nothing_sent(&flow);
    let_go(&flow);
    meeting_end(&meeting);
}

static void too_many_are_refused_in_words(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct fault fault = { "" };

    (void)state;
    plan.sizes = SIZE_LOSS_BUDGET_MAX;
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, CEILING, &fault), STATUS_OK);
    plan.sizes++;
    assert_int_equal(path_mtu_check(&plan, FAMILY_IPV4, CEILING, &fault), STATUS_RANGE);
    assert_non_null(strstr(fault.text, "0 (not at all) to 10000000 are allowed"));
}

/* --- ends ------------------------------------------------------------------------------------- */

struct onlooker {
    const struct path_mtu *end;
    struct path_mtu_summary last;
    int64_t stop_at; /* so many were sent */
    atomic_bool stop;
};

static void look(void *context)
{
    struct onlooker *onlooker = context;
    struct path_mtu_summary now;

    path_mtu_summarize(onlooker->end, &now);
    assert_true(now.sent >= onlooker->last.sent && now.received >= onlooker->last.received);
    assert_true(now.received <= now.sent);
    onlooker->last = now;
    if (now.sent >= onlooker->stop_at)
        atomic_store(&onlooker->stop, true);
}

static void a_cut_tells_what_is_known_and_progress_was_told(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, lossy_above);
    struct onlooker onlooker = { .end = meeting.caller, .stop_at = 700 };
    const struct phase_watch watch = { .context = &onlooker, .tick = look, .stop = &onlooker.stop };
    struct path_mtu_flow flow;

    (void)state;
    plan.sizes = SIZE_LOSS_BUDGET_MAX;
    plan.pace = 2000 * 1000;
    assert_int_equal(meeting_try(&meeting, true, &plan, &watch, &flow), STATUS_INTERRUPTED);
    assert_int_equal(onlooker.last.low, CEILING);
    assert_int_equal(onlooker.last.high, NONE_INT);
    assert_int_equal(onlooker.last.flows_done, 1);
    check_sums(&flow, plan.floor);
    assert_in_range(flow.size_effect.sent, 300, onlooker.last.sent);
    let_go(&flow);

    /* and the end can be used again */
    plan = plan_of(FAMILY_IPV4);
    plan.sizes = 32;
    meeting_probe(&meeting, true, &plan, &flow);
    assert_int_equal(flow.size_effect.sent, 32);
    let_go(&flow);
    meeting_end(&meeting);
}

/* The search needs fewer. */
static struct relay_fate dead_in_time(const struct relay_item *item)
{
    return (struct relay_fate){ .copies = item->number < 2000 };
}

static void a_path_that_dies_ends_it(void **state)
{
    struct path_mtu_plan plan = plan_of(FAMILY_IPV4);
    struct meeting meeting = meeting_begin(FAMILY_IPV4, 1, dead_in_time);
    struct path_mtu_flow flow;

    (void)state;
    plan.sizes = SIZE_LOSS_BUDGET_MAX;
    meeting_probe(&meeting, true, &plan, &flow);
    check_sums(&flow, plan.floor);
    assert_true(flow.size_effect.lost > 0 && flow.size_effect.lost < flow.size_effect.sent);
    assert_true(flow.size_effect.seconds < 60);
    let_go(&flow);
    meeting_end(&meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_above_a_size_is_found_in_both_directions),
        cmocka_unit_test(loss_of_all_sizes_is_none_of_size),
        cmocka_unit_test(what_comes_late_is_waited_for_longer),
        cmocka_unit_test(the_first_of_many_flows_alone_is_measured),
        cmocka_unit_test(sizes_that_no_datagram_has_are_left_out),
        cmocka_unit_test(without_two_sizes_that_pass_nothing_is_sent),
        cmocka_unit_test(too_many_are_refused_in_words),
        cmocka_unit_test(a_cut_tells_what_is_known_and_progress_was_told),
        cmocka_unit_test(a_path_that_dies_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
