/* Owns which points of a run over time are kept. */
#include "agent/probe/timeline.h"

#include <assert.h>
#include <stddef.h>

#include "proto/base/clock.h"

void timeline_init(struct timeline *timeline, int64_t period_ns)
{
    assert(period_ns > 0);
    timeline->count = 0;
    timeline->period_ns = period_ns;
}

/* The number of the newest period that has a point of its own; -1 when none has. */
static int64_t newest_period(const struct timeline *timeline)
{
    for (size_t i = timeline->count; i > 0; i--) {
        if (!timeline->points[i - 1].event)
            return timeline->points[i - 1].at_ns / timeline->period_ns;
    }
    return -1;
}

bool timeline_due(const struct timeline *timeline, int64_t at_ns)
{
    return at_ns / timeline->period_ns > newest_period(timeline);
}

static bool drops_grew(const struct timeline *timeline, size_t at)
{
    int64_t before = at == 0 ? 0 : timeline->points[at - 1].drops;

    return timeline->points[at].drops != NONE_INT && timeline->points[at].drops > before;
}

/* Where drops grew for the first and the last time: `count` when they never did. */
static void find_drops(const struct timeline *timeline, size_t *out_first, size_t *out_last)
{
    *out_first = *out_last = timeline->count;
    for (size_t i = 0; i < timeline->count; i++) {
        if (!drops_grew(timeline, i))
            continue;
        if (*out_first == timeline->count)
            *out_first = i;
        *out_last = i;
    }
}

static void thin(struct timeline *timeline)
{
    size_t first, last, kept = 0;
    int64_t period = -1;

    timeline->period_ns *= 2;
    find_drops(timeline, &first, &last);
    for (size_t i = 0; i < timeline->count; i++) {
        struct timeline_point point = timeline->points[i];
        int64_t own = point.at_ns / timeline->period_ns;

        if (!point.event && i != first && i != last && own == period)
            continue;
        if (!point.event)
            period = own;
        timeline->points[kept++] = point;
    }
    timeline->count = kept;
}

void timeline_add(struct timeline *timeline, const struct timeline_point *point)
{
    assert(timeline->count == 0 || point->at_ns >= timeline->points[timeline->count - 1].at_ns);
    while (timeline->count == TIMELINE_POINTS)
        thin(timeline);
    timeline->points[timeline->count++] = *point;
}

static void append(struct list *points, int64_t at_ns, int64_t value)
{
    double *point;

    if (value == NONE_INT)
        return;
    point = list_append_sized(points, 2 * sizeof *point);
    point[0] = (double)at_ns / (double)NS_PER_S;
    point[1] = (double)value;
}

void timeline_queue(const struct timeline *timeline, struct list *out_points)
{
    for (size_t i = 0; i < timeline->count; i++)
        append(out_points, timeline->points[i].at_ns, timeline->points[i].queued);
}

void timeline_drops(const struct timeline *timeline, struct list *out_points)
{
    for (size_t i = 0; i < timeline->count; i++)
        append(out_points, timeline->points[i].at_ns, timeline->points[i].drops);
}
