/* A log-linear histogram of times: relative error below 1 %, mergeable. Pure.
 *
 * Values below 128 ns have a bucket each; above, every power of two is cut into 128 equal buckets,
 * so a bucket is less than 1/128 = 0.79 % wide. Times above 2^40 ns (18 minutes) fall into the
 * last bucket.
 */
#ifndef SONDE_PROBE_HISTOGRAM_H
#define SONDE_PROBE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire/result.h"

enum { HISTOGRAM_SUB_BITS = 7, HISTOGRAM_BUCKETS = (40 - HISTOGRAM_SUB_BITS + 1) << 7 };

struct histogram {
    uint64_t count;
    int64_t min, max; /* exact; meaningless while count is 0 */
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_init(struct histogram *histogram);

/* Counts one time; negative ones count as 0. */
void histogram_add(struct histogram *histogram, int64_t ns);

/* Adds all of `other`. */
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The smallest time that at least `share` (0 < share <= 1) of the samples do not exceed, as the
 * middle of its bucket, within min..max; NONE_INT without samples. */
int64_t histogram_percentile(const struct histogram *histogram, double share);

/* Writes count, min, max, the percentiles that count supports and the buckets; the rest of
 * *out_rtt is left. */
void histogram_to_rtt(const struct histogram *histogram, struct rtt *out_rtt);

#endif
