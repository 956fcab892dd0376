/* A stall is time in which a thread was not run: neither what it slept nor what it worked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/stall.h"

/* A clock by hand: stall.h asks it by a function without a context. */
static int64_t processor;

static int64_t processor_ns(void)
{
    return processor;
}

struct thread {
    struct stall stall;
    struct mono now;
};

static struct thread thread_new(void)
{
    struct thread thread = { .now = { 77 * NS_PER_S } };

    processor = 3 * NS_PER_S;
    stall_init(&thread.stall, processor_ns, thread.now);
    return thread;
}

/* Lets `ms` pass, of which it was run for run_ms and had asked to sleep asked_ms; in ms. */
static int64_t step(struct thread *thread, int64_t ms, int64_t run_ms, int64_t asked_ms)
{
    thread->now.ns += ms * NS_PER_MS;
    processor += run_ms * NS_PER_MS;
    return stall_step(&thread->stall, thread->now, asked_ms * NS_PER_MS) / NS_PER_MS;
}

static void sleep_and_work_are_no_stall(void **state)
{
    struct thread thread = thread_new();

    (void)state;
    assert_int_equal(step(&thread, 5000, 0, 5000), 0);
    assert_int_equal(step(&thread, 5000, 5000, 0), 0);
    assert_int_equal(step(&thread, 5000, 2500, 2450), 0); /* 50 ms are every day's */
    assert_int_equal(step(&thread, 5, 0, 5000), 0);       /* it was woken early */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(step(&thread, 50, 0, 0), 0); /* nor do many small ones add up */
    assert_int_equal(thread.stall.longest_ns, 0);
}

static void what_is_left_is_a_stall(void **state)
{
    struct thread thread = thread_new();

    (void)state;
    assert_int_equal(step(&thread, 1, 1, 0), 0);
    assert_in_range(step(&thread, 5050, 0, 50), 4999, 5000);
    assert_in_range(step(&thread, 1000, 300, 200), 490, 500);
    assert_in_range(thread.stall.longest_ns, 4999 * NS_PER_MS, 5000 * NS_PER_MS);
}

/* Work before a step counts as little as the clock is looked at often. */
static void work_long_ago_hides_nothing(void **state)
{
    struct thread thread = thread_new();

    (void)state;
    for (int i = 0; i < 500; i++)
        assert_int_equal(step(&thread, 10, 10, 0), 0);
    assert_in_range(step(&thread, 300, 0, 0), 280, 300);
}

static void what_is_skipped_does_not_count(void **state)
{
    struct thread thread = thread_new();

    (void)state;
    thread.now.ns += 10 * NS_PER_S;
    stall_skip(&thread.stall, thread.now);
    assert_int_equal(step(&thread, 99, 0, 0), 0);
    assert_int_equal(thread.stall.longest_ns, 0);
}

static void the_threads_clock_runs_while_it_works(void **state)
{
    int64_t start = stall_thread_ns();
    volatile uint64_t work = 0;

    (void)state;
    while (stall_thread_ns() == start)
        work++;
    assert_true(stall_thread_ns() > start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleep_and_work_are_no_stall),
        cmocka_unit_test(what_is_left_is_a_stall),
        cmocka_unit_test(work_long_ago_hides_nothing),
        cmocka_unit_test(what_is_skipped_does_not_count),
        cmocka_unit_test(the_threads_clock_runs_while_it_works),
    };

    return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
