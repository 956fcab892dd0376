/* A one-way delay is told only where both clocks allow it; else it is said why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/verdict.h"
#include "proto/base/clock.h"
#include "tests/controller/fleet/make_report.h"

struct pair {
    struct report sender, echo;
};

static const struct clock_report good = { CLOCK_SYNCHRONIZED, 2 * NS_PER_MS };

/* Between clocks that are right within 2 ms each: 5 ms there, 9 ms back, at least. */
static struct pair *new_pair(void)
{
    struct made_phase made = made_clean(100);
    struct pair *pair = calloc(1, sizeof *pair);
    struct plan plan;
    struct case_params params;

    assert_non_null(pair);
    make_fleet_plan(1, &plan);
    params = plan_case(&plan, 0);
    record_done(&plan_record, &plan);
    make_report(END_SENDER, &params, &made, &pair->sender);
    make_report(END_ECHO, &params, &made, &pair->echo);
    pair->sender.clock = pair->echo.clock = good;
    pair->sender.host.clock_step_ns = pair->echo.host.clock_step_ns = 0;
    pair->sender.one_way_ns =
        (struct one_way_seen){ .present = true,
                               .count = 100,
                               .forward = { true, 5 * NS_PER_MS, 6 * NS_PER_MS, 7 * NS_PER_MS },
                               .reverse = { true, 9 * NS_PER_MS, 10 * NS_PER_MS, 20 * NS_PER_MS } };
    return pair;
}

/* The case's one-way delays; frees the pair. */
static struct one_way join(struct pair *pair)
{
    struct case_result result;
    struct one_way one_way;

    verdict_join(&pair->sender, &pair->echo, &result);
    assert_string_equal(result.error, "");
    assert_int_equal(record_check(&case_result_record, &result, NULL), STATUS_OK);
    one_way = result.one_way_ns;
    record_done(&case_result_record, &result);
    record_done(&report_record, &pair->sender);
    record_done(&report_record, &pair->echo);
    free(pair);
    return one_way;
}

static void expect_withheld(struct pair *pair, int64_t error_ns, const char *words)
{
    struct one_way one_way = join(pair);

    assert_true(one_way.present && !one_way.forward.present && !one_way.reverse.present);
    assert_string_equal(one_way.withheld, words);
    assert_true(one_way.error_ns == error_ns);
}

static void both_legs_are_told_with_the_error_of_both_clocks(void **state)
{
    struct one_way one_way = join(new_pair());

    (void)state;
    assert_true(one_way.present);
    assert_int_equal(one_way.error_ns, 4 * NS_PER_MS);
    assert_string_equal(one_way.withheld, "");
    assert_true(one_way.forward.present && one_way.reverse.present);
    assert_int_equal(one_way.forward.min, 5 * NS_PER_MS);
    assert_int_equal(one_way.forward.mean, 6 * NS_PER_MS);
    assert_int_equal(one_way.forward.max, 7 * NS_PER_MS);
    assert_int_equal(one_way.reverse.min, 9 * NS_PER_MS);
    assert_int_equal(one_way.reverse.mean, 10 * NS_PER_MS);
    assert_int_equal(one_way.reverse.max, 20 * NS_PER_MS);
}

static void an_error_as_large_as_the_delay_is_not_larger(void **state)
{
    struct pair *pair = new_pair();
    struct one_way one_way;

    (void)state;
    pair->echo.clock.max_error_ns = 3 * NS_PER_MS;
    one_way = join(pair);
    assert_true(one_way.forward.present && one_way.withheld[0] == '\0');
    pair = new_pair();
    pair->echo.clock.max_error_ns = 3 * NS_PER_MS + 1;
    one_way = join(pair);
    assert_false(one_way.forward.present);
    assert_true(one_way.reverse.present); /* each leg for itself */
    assert_string_equal(one_way.withheld,
                        "forward: the clocks' error of 5 ms is larger than the delay");
    pair = new_pair();
    pair->sender.clock.max_error_ns = 10 * NS_PER_MS;
    expect_withheld(pair, 12 * NS_PER_MS,
                    "forward: the clocks' error of 12 ms is larger than the delay; "
                    "reverse: the clocks' error of 12 ms is larger than the delay");
}

/* The echo's clock is behind: what it says is negative, the sum is the round trip all the same. */
static void negative_delays_are_signed(void **state)
{
    struct pair *pair = new_pair();
    struct one_way one_way;

    (void)state;
    pair->sender.one_way_ns.forward = (struct delay){ true, -3 * NS_PER_MS, -1, 4 };
    one_way = join(pair);
    assert_false(one_way.forward.present);
    assert_true(one_way.reverse.present);
    assert_string_equal(one_way.withheld,
                        "forward: the clocks' error of 4 ms is larger than the delay");
    pair = new_pair();
    pair->sender.one_way_ns.forward = (struct delay){ true, -86400 * NS_PER_S, 0, 0 };
    one_way = join(pair);
    assert_false(one_way.forward.present);
    assert_string_equal(one_way.withheld,
                        "forward: the clocks are further apart than their error of 4 ms");
}

static void a_clock_that_is_not_synchronized_withholds(void **state)
{
    struct pair *pair = new_pair();

    (void)state;
    pair->echo.clock = (struct clock_report){ CLOCK_UNSYNCHRONIZED, NONE_INT };
    expect_withheld(pair, NONE_INT, "the clock of the echo's host is not synchronized");
    pair = new_pair();
    pair->sender.clock = (struct clock_report){ CLOCK_UNKNOWN, 1 };
    pair->echo.clock = (struct clock_report){ CLOCK_UNSYNCHRONIZED, 1 };
    expect_withheld(pair, 2,
                    "the clock of the sender's host is not known to be synchronized; "
                    "the clock of the echo's host is not synchronized");
    pair = new_pair();
    pair->sender.clock.max_error_ns = NONE_INT;
    expect_withheld(pair, NONE_INT, "the error of the clock of the sender's host is not known");
    pair = new_pair();
    pair->sender.clock.max_error_ns = INT64_MAX;
    expect_withheld(pair, NONE_INT, "the clocks' error is beyond all reason");
}

static void a_clock_that_was_stepped_withholds(void **state)
{
    struct pair *pair = new_pair();

    (void)state;
    pair->echo.host.clock_step_ns = -3 * NS_PER_S;
    expect_withheld(pair, 4 * NS_PER_MS,
                    "the clock of the echo's host was stepped by -3 s meanwhile");
    pair = new_pair();
    pair->sender.host.clock_step_ns = 200 * NS_PER_MS;
    expect_withheld(pair, 4 * NS_PER_MS,
                    "the clock of the sender's host was stepped by 200 ms meanwhile");
    pair = new_pair();
    pair->sender.host.clock_step_ns = NONE_INT;
    expect_withheld(pair, 4 * NS_PER_MS,
                    "whether the clock of the sender's host was stepped is not known");
}

static void without_samples_there_is_nothing_to_tell(void **state)
{
    struct pair *pair = new_pair();

    (void)state;
    pair->sender.one_way_ns = (struct one_way_seen){ .present = false };
    assert_false(join(pair).present);
    pair = new_pair();
    pair->sender.one_way_ns.count = 0;
    assert_false(join(pair).present);
}

static void delays_out_of_order_are_an_error(void **state)
{
    static const struct delay wrong[] = { { true, 5, 4, 6 }, { true, 5, 7, 6 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            struct pair *pair = new_pair();
            struct one_way_seen *seen = &pair->sender.one_way_ns;
            struct case_result result;

            *(reverse ? &seen->reverse : &seen->forward) = wrong[i];
            verdict_join(&pair->sender, &pair->echo, &result);
            assert_int_equal(result.status, CASE_ERROR);
            assert_non_null(strstr(result.error, "out of order"));
            assert_false(result.one_way_ns.present);
            record_done(&case_result_record, &result);
            record_done(&report_record, &pair->sender);
            record_done(&report_record, &pair->echo);
            free(pair);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_legs_are_told_with_the_error_of_both_clocks),
        cmocka_unit_test(an_error_as_large_as_the_delay_is_not_larger),
        cmocka_unit_test(negative_delays_are_signed),
        cmocka_unit_test(a_clock_that_is_not_synchronized_withholds),
        cmocka_unit_test(a_clock_that_was_stepped_withholds),
        cmocka_unit_test(without_samples_there_is_nothing_to_tell),
        cmocka_unit_test(delays_out_of_order_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
