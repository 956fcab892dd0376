/* Pauses grow to the last one, vary, and start anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/base/clock.h"
#include "proto/link/backoff.h"

static void pauses_double_up_to_the_last(void **state)
{
    static const int64_t steps[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
    struct backoff backoff;

    (void)state;
    backoff_init(&backoff, NS_PER_S, 60 * NS_PER_S);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        assert_int_equal(backoff_next(&backoff, 0), steps[i] * NS_PER_S);
}

static void a_pause_is_between_half_and_whole(void **state)
{
    const int64_t step = NS_PER_S;
    struct backoff backoff;

    (void)state;
    backoff_init(&backoff, step, step);
    assert_int_equal(backoff_next(&backoff, 0), step);
    assert_int_equal(backoff_next(&backoff, (uint64_t)step / 2), step / 2);
    assert_int_equal(backoff_next(&backoff, (uint64_t)step / 2 + 1), step);
    for (uint64_t random = 1; random != 0; random <<= 1) {
        assert_in_range(backoff_next(&backoff, random), step / 2, step);
        assert_in_range(backoff_next(&backoff, ~random), step / 2, step);
    }
}

static void it_starts_anew_when_it_worked(void **state)
{
    struct backoff backoff;

    (void)state;
    backoff_init(&backoff, 100, 1000);
    for (int i = 0; i < 10; i++)
        backoff_next(&backoff, 0);
    assert_int_equal(backoff_next(&backoff, 0), 1000);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next(&backoff, 0), 100);
    assert_int_equal(backoff_next(&backoff, 0), 200);
}

static void the_ends_of_the_range_are_safe(void **state)
{
    struct backoff backoff;

    (void)state;
    backoff_init(&backoff, 1, INT64_MAX);
    for (int i = 0; i < 100; i++)
        assert_true(backoff_next(&backoff, UINT64_MAX) >= 0);
    assert_int_equal(backoff_next(&backoff, 0), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_last),
        cmocka_unit_test(a_pause_is_between_half_and_whole),
        cmocka_unit_test(it_starts_anew_when_it_worked),
        cmocka_unit_test(the_ends_of_the_range_are_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
