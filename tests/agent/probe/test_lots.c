/* Lots must be even, and the same for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/lots.h"

static void draws_the_same_from_the_same_seed(void **state)
{
    uint64_t one = 7, other = 7, third = 8;
    int alike = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t drawn = lots_draw(&one, 1000);

        assert_int_equal(drawn, lots_draw(&other, 1000));
        alike += drawn == lots_draw(&third, 1000);
    }
    assert_true(alike < 5);
}

static void draws_evenly(void **state)
{
    uint64_t lots = 0;
    int drawn[10] = { 0 };

    (void)state;
    for (int i = 0; i < 100000; i++)
        drawn[lots_draw(&lots, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(drawn[i], 9500, 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_the_same_from_the_same_seed),
        cmocka_unit_test(draws_evenly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
