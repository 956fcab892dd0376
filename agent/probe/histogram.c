/* Owns the buckets. Knows nothing of where times come from. */
#include "agent/probe/histogram.h"

#include <math.h>
#include <string.h>

enum { SUB_BUCKETS = 1 << HISTOGRAM_SUB_BITS };

void histogram_init(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

/* Bits above the sub-bucket's choose the power of two: 0..127 map to themselves, 128..255 follow
 * with width 1, 256..511 with width 2, and so on. */
static size_t index_of(int64_t ns)
{
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    unsigned shift;
    size_t index;

    if (value < SUB_BUCKETS)
        return (size_t)value;
    shift = 63U - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    index = ((size_t)shift << HISTOGRAM_SUB_BITS) + (size_t)(value >> shift);
    return index < HISTOGRAM_BUCKETS ? index : HISTOGRAM_BUCKETS - 1;
}

static int64_t lowest_of(size_t index)
{
    size_t shift;

    if (index < 2 * SUB_BUCKETS)
        return (int64_t)index;
    shift = (index >> HISTOGRAM_SUB_BITS) - 1;
    return (int64_t)(index - (shift << HISTOGRAM_SUB_BITS)) << shift;
}

void histogram_add(struct histogram *histogram, int64_t ns)
{
    if (ns < 0)
        ns = 0;
    if (histogram->count == 0 || ns < histogram->min)
        histogram->min = ns;
    if (histogram->count == 0 || ns > histogram->max)
        histogram->max = ns;
    histogram->count++;
    histogram->bucket[index_of(ns)]++;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    if (other->count == 0)
        return;
    if (histogram->count == 0 || other->min < histogram->min)
        histogram->min = other->min;
    if (histogram->count == 0 || other->max > histogram->max)
        histogram->max = other->max;
    histogram->count += other->count;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        histogram->bucket[i] += other->bucket[i];
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int64_t histogram_percentile(const struct histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count);
    uint64_t seen = 0;

    if (histogram->count == 0)
        return NONE_INT;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen >= rank && seen > 0) {
            int64_t low = lowest_of(i);
            int64_t middle = low + (lowest_of(i + 1) - low) / 2;

            return clamp(middle, histogram->min, histogram->max);
        }
    }
    return histogram->max;
}

static int64_t supported(const struct histogram *histogram, double share, uint64_t samples)
{
    return histogram->count < samples ? NONE_INT : histogram_percentile(histogram, share);
}

void histogram_to_rtt(const struct histogram *histogram, struct rtt *out_rtt)
{
    out_rtt->count = (int64_t)histogram->count;
    out_rtt->min = histogram->count == 0 ? NONE_INT : histogram->min;
    out_rtt->max = histogram->count == 0 ? NONE_INT : histogram->max;
    out_rtt->p50 = supported(histogram, 0.5, 1);
    out_rtt->p90 = supported(histogram, 0.9, 10);
    out_rtt->p99 = supported(histogram, 0.99, 100);
    out_rtt->p999 = supported(histogram, 0.999, 1000);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        int64_t *pair;

        if (histogram->bucket[i] == 0)
            continue;
        pair = list_append_sized(&out_rtt->histogram, 2 * sizeof *pair);
        pair[0] = lowest_of(i);
        pair[1] = (int64_t)histogram->bucket[i];
    }
}
