/* A steady stream keeps its pace, and a late sender never makes up with a burst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/schedule.h"

enum { START = 1000000, INTERVAL = 100 };

static struct mono at(int64_t ns)
{
    return (struct mono){ .ns = START + ns };
}

static struct schedule begun(int64_t interval_ns)
{
    struct schedule schedule;

    schedule_begin(&schedule, interval_ns, at(0));
    return schedule;
}

static void the_first_is_due_at_once(void **state)
{
    struct schedule schedule = begun(INTERVAL);

    (void)state;
    assert_int_equal(schedule_wait(&schedule, at(0)), 0);
    schedule_sent(&schedule, at(0));
    assert_int_equal(schedule_wait(&schedule, at(0)), INTERVAL);
    assert_int_equal(schedule_wait(&schedule, at(99)), 1);
    assert_int_equal(schedule_wait(&schedule, at(INTERVAL)), 0);
    assert_int_equal(schedule_wait(&schedule, at(500)), 0);
}

/* Each is 99 of 100 late, and the thousandth is still due where it should be. */
static void small_delays_do_not_add_up(void **state)
{
    struct schedule schedule = begun(INTERVAL);

    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(schedule_wait(&schedule, at(i * INTERVAL)), 0);
        schedule_sent(&schedule, at(i * INTERVAL + INTERVAL - 1));
    }
    assert_int_equal(schedule_wait(&schedule, at(1000 * INTERVAL - 7)), 7);
}

static void what_was_missed_is_not_made_up_for(void **state)
{
    struct schedule schedule = begun(INTERVAL);

    (void)state;
    schedule_sent(&schedule, at(0));
    schedule_sent(&schedule, at(5000)); /* 49 intervals late */
    assert_int_equal(schedule_wait(&schedule, at(5000)), INTERVAL);
    schedule_sent(&schedule, at(5100));
    assert_int_equal(schedule_wait(&schedule, at(5100)), INTERVAL);
}

/* Of any two intervals that follow one another, at most two datagrams fall into the time of one. */
static void no_burst_however_late_it_is(void **state)
{
    struct schedule schedule = begun(INTERVAL);
    int64_t now = 0, before = -INTERVAL, earlier = -2 * INTERVAL;
    uint32_t chance = 12345;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        chance = chance * 1664525 + 1013904223;
        now += schedule_wait(&schedule, at(now)) + (int64_t)(chance >> 24) * (i % 3 == 0);
        schedule_sent(&schedule, at(now));
        if (now - earlier < INTERVAL)
            fail_msg("three at %d, %d, %d", (int)earlier, (int)before, (int)now);
        earlier = before;
        before = now;
    }
}

static void full_speed_never_waits(void **state)
{
    struct schedule schedule = begun(0);

    (void)state;
    for (int64_t now = 0; now < 1000; now += 10) {
        assert_int_equal(schedule_wait(&schedule, at(now)), 0);
        schedule_sent(&schedule, at(now));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_due_at_once),
        cmocka_unit_test(small_delays_do_not_add_up),
        cmocka_unit_test(what_was_missed_is_not_made_up_for),
        cmocka_unit_test(no_burst_however_late_it_is),
        cmocka_unit_test(full_speed_never_waits),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
