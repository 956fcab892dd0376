/* What the kernel says of its clock must be passed on, and nothing made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/timex.h>

#include "agent/host/wall_state.h"
#include "proto/base/clock.h"

static void says_what_the_kernel_says(void **state)
{
    struct clock_report report = { .max_error_ns = -7 };
    struct timex now;
    int kernel;

    (void)state;
    memset(&now, 0, sizeof now);
    kernel = ntp_adjtime(&now);
    wall_state(&report);
    if (kernel < 0) {
        assert_int_equal(report.sync, CLOCK_UNKNOWN);
        assert_true(report.max_error_ns == NONE_INT);
    } else if (kernel == TIME_ERROR) {
        assert_int_equal(report.sync, CLOCK_UNSYNCHRONIZED);
        assert_true(report.max_error_ns == NONE_INT); /* no bound is a bound */
    } else {
        assert_int_equal(report.sync, CLOCK_SYNCHRONIZED);
        /* it grows by 500 us each second */
        assert_in_range(report.max_error_ns, now.maxerror * NS_PER_US,
                        now.maxerror * NS_PER_US + NS_PER_S);
    }
}

static void leaves_the_clock_alone(void **state)
{
    struct clock_report report;
    struct wall before = wall_now();
    struct mono start = mono_now();
    int64_t step;

    (void)state;
    for (int i = 0; i < 1000; i++)
        wall_state(&report);
    step = wall_now().ns - before.ns - mono_between(start, mono_now());
    assert_in_range(step + NS_PER_S, 0, 2 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_kernel_says),
        cmocka_unit_test(leaves_the_clock_alone),
    };

    return cmocka_run_group_tests_name("wall_state", tests, NULL, NULL);
}
