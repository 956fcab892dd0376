/* Signed times of one direction: count, least, mean, most. No histogram: what two clocks are apart
 * is in all of them alike, and may be years. Zeroed: none yet. Pure. */
#ifndef SONDE_PROBE_DELAYS_H
#define SONDE_PROBE_DELAYS_H

#include "proto/wire/result.h"

struct delays {
    int64_t count;
    int64_t min, max;
    int64_t base; /* the first one: the sum is of what the others are off it, so it stays exact */
    double sum;
};

/* `ns` as a difference of two NTP timestamps can be: within 2^31 seconds. */
void delays_add(struct delays *delays, int64_t ns);

void delays_merge(struct delays *delays, const struct delays *more);

/* With a count above 0. */
struct delay delays_summary(const struct delays *delays);

#endif
