/* The model of a receive buffer must say what a kernel of either rule would hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include "agent/probe/capacity.h"
#include "tests/agent/probe/chance.h"

/* net/ipv4/udp.c, __udp_enqueue_schedule_skb, of both kinds: how many of a burst are queued. */
static int64_t kernel_holds(bool old_rule, int64_t buffer, int64_t charge, int64_t burst)
{
    int64_t charged = 0, held = 0;

    for (int64_t i = 0; i < burst; i++) {
        bool dropped = old_rule ? charged > buffer : charged + charge > buffer && charged > 0;

        if (dropped)
            continue;
        charged += charge;
        held++;
    }
    return held;
}

static void says_what_the_seeds_saw(void **state)
{
    static const struct {
        double charge;
        int64_t held;
    } seen[] = { { 2304, 3640 }, { 16640, 504 }, { 17188, 488 }, { 17216, 487 }, { 66339, 126 } };
    const int64_t granted = 8 << 20;

    (void)state;
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        const struct capacity capacity = { seen[i].charge, 0 };

        assert_int_equal(capacity_of(&capacity, granted), seen[i].held);
    }
    /* 16 clients and a window of 64, and of 16 */
    assert_int_equal(capacity_predict_lost(&(struct capacity){ 16640, 0 }, granted, 1024), 520);
    assert_int_equal(capacity_predict_lost(&(struct capacity){ 66339, 0 }, granted, 256), 130);
    assert_int_equal(capacity_predict_lost(&(struct capacity){ 2304, 0 }, granted, 1024), 0);
}

static void agrees_with_both_rules(void **state)
{
    struct chance chance = chance_start("capacity rules");

    (void)state;
    for (int i = 0; i < 2000; i++) {
        bool old_rule = i % 2 == 0;
        int64_t charge = 500 + (int64_t)chance_below(&chance, 70000);
        int64_t small = charge * 6 + (int64_t)chance_below(&chance, 3) - 1;
        int64_t large = 2304 + (int64_t)chance_below(&chance, 16 << 20);
        int64_t burst = large / charge + 5;
        struct capacity capacity;

        assert_int_equal(capacity_learn(small, (double)charge,
                                        kernel_holds(old_rule, small, charge, 20), &capacity),
                         STATUS_OK);
        assert_int_equal(capacity.extra, old_rule);
        assert_int_equal(capacity_of(&capacity, large),
                         kernel_holds(old_rule, large, charge, burst));
        assert_int_equal(capacity_predict_lost(&capacity, large, burst),
                         burst - kernel_holds(old_rule, large, charge, burst));
    }
}

static void holds_one_that_is_larger_than_the_buffer(void **state)
{
    struct capacity capacity;

    (void)state;
    for (int old_rule = 0; old_rule < 2; old_rule++) {
        assert_int_equal(kernel_holds(old_rule, 2304, 66339, 10), 1);
        assert_int_equal(capacity_learn(2304, 66339, 1, &capacity), STATUS_OK);
        assert_int_equal(capacity_of(&capacity, 2304), 1);
        assert_int_equal(capacity_of(&(struct capacity){ 66339, old_rule }, 2304), 1);
    }
    assert_int_equal(capacity_predict_lost(&capacity, 2304, 0), 0);
    assert_int_equal(capacity_predict_lost(&capacity, 2304, 1), 0);
    assert_int_equal(capacity_predict_lost(&capacity, 2304, 2), 1);
}

static void refuses_what_no_rule_gives(void **state)
{
    struct capacity capacity = { 7, 7 };

    (void)state;
    assert_int_equal(capacity_learn(60000, 10000, 5, &capacity), STATUS_CORRUPT);
    assert_int_equal(capacity_learn(60000, 10000, 8, &capacity), STATUS_CORRUPT);
    assert_int_equal(capacity_learn(5000, 10000, 2, &capacity), STATUS_CORRUPT);
    assert_int_equal(capacity_learn(60000, 10000, 0, &capacity), STATUS_CORRUPT);
    assert_int_equal(capacity_learn(60000, 0, 6, &capacity), STATUS_CORRUPT);
    assert_int_equal(capacity_learn(0, 10000, 1, &capacity), STATUS_CORRUPT);
    assert_true(capacity.charge == 7 && capacity.extra == 7);
}

static void check_smallest(const struct capacity *capacity, int64_t datagrams)
{
    int64_t needed = capacity_needed(capacity, datagrams);

    if (needed < 1 || capacity_of(capacity, needed) < datagrams)
        fail_msg("%" PRId64 " bytes do not hold %" PRId64 " of %.17g + %" PRId64, needed, datagrams,
                 capacity->charge, capacity->extra);
    if (needed > 1 && capacity_of(capacity, needed - 1) >= datagrams)
        fail_msg("%" PRId64 " bytes are more than %" PRId64 " of %.17g + %" PRId64 " need", needed,
                 datagrams, capacity->charge, capacity->extra);
}

static void needs_the_smallest_buffer_that_holds(void **state)
{
    struct chance chance = chance_start("capacity needed");

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t granted = 2304 + (int64_t)chance_below(&chance, 16 << 20);
        int64_t held = 1 + (int64_t)chance_below(&chance, 20000);
        const struct capacity whole = { (double)(500 + chance_below(&chance, 70000)), i & 1 };
        const struct capacity quotient = { (double)granted / (double)held, i & 1 };
        int64_t datagrams = (int64_t)chance_below(&chance, 5000);

        check_smallest(&whole, i < 10 ? i : datagrams);
        check_smallest(&quotient, i < 10 ? i : datagrams);
    }
}

/* Where there is no count of drops, the charge is a quotient: it must lead back to what was held.
 */
static void holds_what_it_was_seen_to_hold(void **state)
{
    static const int64_t buffers[] = { 2304, 786896, 4 << 20, 8388608, 425984, 999983 };

    (void)state;
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        for (int64_t held = 1; held <= 8192 && held <= buffers[i]; held++) {
            const struct capacity capacity = { (double)buffers[i] / (double)held, 0 };

            assert_int_equal(capacity_of(&capacity, buffers[i]), held);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_seeds_saw),
        cmocka_unit_test(agrees_with_both_rules),
        cmocka_unit_test(holds_one_that_is_larger_than_the_buffer),
        cmocka_unit_test(refuses_what_no_rule_gives),
        cmocka_unit_test(needs_the_smallest_buffer_that_holds),
        cmocka_unit_test(holds_what_it_was_seen_to_hold),
    };

    return cmocka_run_group_tests_name("capacity", tests, NULL, NULL);
}
