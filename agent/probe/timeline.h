/* How a queue filled and dropped over time, in a bounded number of points however long it took.
 * Pure: the caller gives the times. */
#ifndef SONDE_PROBE_TIMELINE_H
#define SONDE_PROBE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/record.h"

enum { TIMELINE_POINTS = 400 };

struct timeline_point {
    int64_t at_ns;
    int64_t queued; /* bytes; NONE_INT where it cannot be read */
    int64_t drops;  /* so far; NONE_INT where nobody counts */
    bool event;     /* something happened here: kept */
};

/* Time is cut into periods and has one point in each, besides events. A timeline that is full has
 * its period doubled and its points thinned to that. */
struct timeline {
    struct timeline_point points[TIMELINE_POINTS];
    size_t count;
    int64_t period_ns;
};

void timeline_init(struct timeline *timeline, int64_t period_ns);

/* True when the period of `at_ns` has no point yet. */
bool timeline_due(const struct timeline *timeline, int64_t at_ns);

/* Adds a point that is not before the last one. The first and the last point at which drops grew
 * are events by themselves. At most TIMELINE_POINTS / 8 may be marked as events. */
void timeline_add(struct timeline *timeline, const struct timeline_point *point);

/* Appends [seconds, value] of each point whose value is known to a list of double[2]. */
void timeline_queue(const struct timeline *timeline, struct list *out_points);
void timeline_drops(const struct timeline *timeline, struct list *out_points);

#endif
