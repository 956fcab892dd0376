/* Signed times must be summed up exactly, however far two clocks are apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/delays.h"
#include "proto/base/clock.h"

static const int64_t offsets[] = { 0,
                                   1,
                                   -86400 * NS_PER_S,
                                   86400 * NS_PER_S,
                                   INT64_C(2147483647) * NS_PER_S,
                                   -INT64_C(2147483647) * NS_PER_S };
enum { OFFSETS = sizeof offsets / sizeof offsets[0] };

static void expect(const struct delays *delays, int64_t count, struct delay expected)
{
    struct delay delay = delays_summary(delays);

    assert_int_equal(delays->count, count);
    assert_true(delay.present);
    assert_true(delay.min == expected.min);
    assert_true(delay.mean == expected.mean);
    assert_true(delay.max == expected.max);
}

static void least_mean_and_most_are_exact_at_any_offset(void **state)
{
    (void)state;
    for (size_t i = 0; i < OFFSETS; i++) {
        struct delays delays = { 0 };

        for (int64_t k = 0; k <= 200000; k++)
            delays_add(&delays, offsets[i] + (k * 7919 % 200001) - 100000);
        expect(&delays, 200001,
               (struct delay){ true, offsets[i] - 100000, offsets[i], offsets[i] + 100000 });
    }
}

static void one_is_all_three(void **state)
{
    struct delays delays = { 0 };

    (void)state;
    delays_add(&delays, -5);
    expect(&delays, 1, (struct delay){ true, -5, -5, -5 });
}

static void merged_is_as_if_one_had_seen_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < OFFSETS; i++) {
        struct delays a = { 0 }, b = { 0 }, all = { 0 }, none = { 0 };

        delays_add(&a, offsets[i] + 10);
        delays_add(&a, offsets[i] + 30);
        delays_add(&b, offsets[i] - 50);
        delays_merge(&all, &none);
        assert_int_equal(all.count, 0);
        delays_merge(&all, &a);
        delays_merge(&all, &none);
        expect(&all, 2, (struct delay){ true, offsets[i] + 10, offsets[i] + 20, offsets[i] + 30 });
        delays_merge(&all, &b);
        /* a third of -10, which no whole number is */
        assert_in_range(delays_summary(&all).mean - offsets[i] + 4, 0, 1);
        assert_true(delays_summary(&all).min == offsets[i] - 50);
        assert_int_equal(all.count, 3);
    }
}

/* The ends of what timestamps can tell apart. */
static void the_mean_stays_between(void **state)
{
    struct delays delays = { 0 };
    struct delay delay;

    (void)state;
    for (int i = 0; i < 3; i++)
        delays_add(&delays,
                   i == 1 ? INT64_C(2147483648) * NS_PER_S - 1 : -INT64_C(2147483648) * NS_PER_S);
    delay = delays_summary(&delays);
    assert_true(delay.min <= delay.mean && delay.mean <= delay.max);
    assert_true(delay.mean < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_mean_and_most_are_exact_at_any_offset),
        cmocka_unit_test(one_is_all_three),
        cmocka_unit_test(merged_is_as_if_one_had_seen_all),
        cmocka_unit_test(the_mean_stays_between),
    };

    return cmocka_run_group_tests_name("delays", tests, NULL, NULL);
}
