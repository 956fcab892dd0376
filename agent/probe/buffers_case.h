/* One case of a plan of buffer experiments: what it is, how it is called, how long it takes. Pure.
 */
#ifndef SONDE_PROBE_BUFFERS_CASE_H
#define SONDE_PROBE_BUFFERS_CASE_H

#include "proto/wire/buffers.h"

enum { BUFFERS_LABEL_SIZE = 160 };

/* Each experiment uses what it needs. */
struct buffers_case {
    enum experiment experiment;
    enum buffer_side side;
    int64_t asked; /* ladder: NONE_INT for the default */
    int64_t payload, rcvbuf, sends;
    int64_t read_ns, interval_ns;
    double seconds; /* idle */
};

/* Case `index` of the plan, below buffers_case_count: experiments in the plan's order, each with
 * its lists in theirs. */
struct buffers_case buffers_case_at(const struct buffers_plan *plan, size_t index);

/* "hold: 1,000 B": for people who wait. */
void buffers_case_label(const struct buffers_case *one, char out_label[BUFFERS_LABEL_SIZE]);

/* How long it takes at most, in seconds, on a machine that has time for it. */
double buffers_case_seconds(const struct buffers_case *one);

#endif
