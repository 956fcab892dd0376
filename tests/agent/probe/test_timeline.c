/* However long a run, its timeline is short, even, and has what happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "agent/probe/timeline.h"

enum { PERIOD = 1000 };

static void add(struct timeline *timeline, int64_t at_ns, int64_t drops, bool event)
{
    timeline_add(timeline,
                 &(struct timeline_point){
                     .at_ns = at_ns, .queued = at_ns * 2, .drops = drops, .event = event });
}

static bool has(const struct timeline *timeline, int64_t at_ns)
{
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->points[i].at_ns == at_ns)
            return true;
    }
    return false;
}

static void one_point_a_period(void **state)
{
    struct timeline timeline;

    (void)state;
    timeline_init(&timeline, PERIOD);
    assert_true(timeline_due(&timeline, 0));
    add(&timeline, 0, 0, false);
    assert_false(timeline_due(&timeline, PERIOD - 1));
    assert_true(timeline_due(&timeline, PERIOD));
    add(&timeline, PERIOD + 900, 0, false);
    assert_false(timeline_due(&timeline, 2 * PERIOD - 1));
    assert_true(timeline_due(&timeline, 2 * PERIOD));
}

static void an_event_does_not_take_a_period(void **state)
{
    struct timeline timeline;

    (void)state;
    timeline_init(&timeline, PERIOD);
    add(&timeline, 10, 0, true);
    assert_true(timeline_due(&timeline, 10));
    add(&timeline, 20, 0, false);
    add(&timeline, 30, 0, true);
    assert_false(timeline_due(&timeline, 40));
}

/* Samples a run of `periods` periods as its owner does; drops from `first` to `last`. */
static void run(struct timeline *timeline, int64_t periods, int64_t first, int64_t last)
{
    int64_t drops = 0;

    timeline_init(timeline, PERIOD);
    add(timeline, 0, 0, true);
    for (int64_t at_ns = 0; at_ns < periods * PERIOD; at_ns += PERIOD / 4) {
        bool grew = at_ns >= first && at_ns <= last;

        drops += grew;
        if (timeline_due(timeline, at_ns) || at_ns == first || at_ns == last)
            add(timeline, at_ns, drops, false);
    }
    add(timeline, periods * PERIOD, drops, true);
}

static void a_long_run_is_thinned_evenly(void **state)
{
    struct timeline timeline;
    int64_t widest = 0, narrowest = INT64_MAX;

    (void)state;
    run(&timeline, 100000, INT64_MAX, INT64_MAX);
    assert_in_range(timeline.count, TIMELINE_POINTS / 3, TIMELINE_POINTS);
    for (size_t i = 2; i < timeline.count - 1; i++) {
        int64_t gap = timeline.points[i].at_ns - timeline.points[i - 1].at_ns;

        widest = gap > widest ? gap : widest;
        narrowest = gap < narrowest ? gap : narrowest;
    }
    assert_int_equal(widest, narrowest);
    assert_int_equal(widest, timeline.period_ns);
}

static void what_happened_is_kept(void **state)
{
    static const int64_t periods[] = { 10, 300, 401, 5000, 70001 };

    (void)state;
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        int64_t end = periods[i] * PERIOD;
        int64_t first = end / 3 / 250 * 250, last = end / 2 / 250 * 250;
        struct timeline timeline;

        run(&timeline, periods[i], first, last);
        assert_true(has(&timeline, 0));
        assert_true(has(&timeline, first));
        assert_true(has(&timeline, last));
        assert_true(has(&timeline, end));
        for (size_t k = 1; k < timeline.count; k++)
            assert_true(timeline.points[k].at_ns >= timeline.points[k - 1].at_ns);
    }
}

static void what_is_not_known_is_left_out(void **state)
{
    struct timeline timeline;
    struct list queue = { 0 }, drops = { 0 };
    const double *point;

    (void)state;
    timeline_init(&timeline, PERIOD);
    for (int64_t i = 0; i < 5; i++)
        add(&timeline, i * PERIOD * 1000, i < 3 ? i : NONE_INT, false);
    timeline_queue(&timeline, &queue);
    timeline_drops(&timeline, &drops);
    assert_int_equal(queue.count, 5);
    assert_int_equal(drops.count, 3);
    point = (const double *)queue.items + 2;
    assert_true(point[0] > 0.000999 && point[0] < 0.001001);
    assert_true(point[1] > 1999999 && point[1] < 2000001);
    point = (const double *)drops.items + 4;
    assert_true(point[1] > 1.9 && point[1] < 2.1);
    free(queue.items);
    free(drops.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_point_a_period),
        cmocka_unit_test(an_event_does_not_take_a_period),
        cmocka_unit_test(a_long_run_is_thinned_evenly),
        cmocka_unit_test(what_happened_is_kept),
        cmocka_unit_test(what_is_not_known_is_left_out),
    };

    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
