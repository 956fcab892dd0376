/* When the next datagram of a steady stream is due. Pure: the caller gives the times. */
#ifndef SONDE_PROBE_SCHEDULE_H
#define SONDE_PROBE_SCHEDULE_H

#include "proto/base/clock.h"

/* Due times stand a whole number of intervals apart, so a send that is a little late does not delay
 * those behind it. A sender that is late by an interval or more starts again from where it is:
 * what it missed is never made up for by a burst. */
struct schedule {
    int64_t interval_ns; /* 0: everything is due at once */
    struct mono due;
};

/* The first datagram is due at `now`. */
void schedule_begin(struct schedule *schedule, int64_t interval_ns, struct mono now);

/* How long until the next one is due; never negative. */
int64_t schedule_wait(const struct schedule *schedule, struct mono now);

/* One goes out at `now`. */
void schedule_sent(struct schedule *schedule, struct mono now);

#endif
