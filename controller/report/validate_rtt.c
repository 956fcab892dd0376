/* Owns what percentiles may say: none finer than the count supports, in order, and a histogram
 * that holds every sample. */
#include <inttypes.h>

#include "controller/report/validate_parts.h"

struct quantile {
    const char *name;
    int64_t value;
    int64_t needs; /* samples that support it */
};

static enum status check_quantiles(const struct rtt *rtt, const char *at, struct fault *fault)
{
    const struct quantile quantiles[] = {
        { "min", rtt->min, 1 },   { "p50", rtt->p50, 1 },      { "p90", rtt->p90, 10 },
        { "p99", rtt->p99, 100 }, { "p999", rtt->p999, 1000 }, { "max", rtt->max, 1 },
    };
    const struct quantile *below = NULL;

    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        const struct quantile *q = &quantiles[i];

        if (rtt->count < q->needs) {
            if (q->value != NONE_INT)
                return fault_set(fault, STATUS_CORRUPT,
                                 "%s/%s: must be null below %" PRId64 " samples (count is %" PRId64
                                 ")",
                                 at, q->name, q->needs, rtt->count);
            continue;
        }
        if (q->value == NONE_INT)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/%s: must not be null with %" PRId64 " samples", at, q->name,
                             rtt->count);
        if (below != NULL && q->value < below->value)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/%s: %" PRId64 " is below %s, which is %" PRId64, at, q->name,
                             q->value, below->name, below->value);
        below = q;
    }
    return STATUS_OK;
}

static enum status check_histogram(const struct rtt *rtt, const char *at, struct fault *fault)
{
    const int64_t(*buckets)[2] = rtt->histogram.items;
    int64_t total = 0;

    for (size_t i = 0; i < rtt->histogram.count; i++) {
        if (buckets[i][0] < 0 || buckets[i][1] < 0)
            return fault_set(fault, STATUS_CORRUPT, "%s/histogram/%zu: must not be negative", at,
                             i);
        if (i > 0 && buckets[i][0] <= buckets[i - 1][0])
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/histogram/%zu: %" PRId64 " does not come behind %" PRId64, at, i,
                             buckets[i][0], buckets[i - 1][0]);
        if (!sum_add(&total, buckets[i][1]))
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/histogram: the counts do not fit into 64 bits", at);
    }
    if (total != rtt->count)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/histogram: adds up to %" PRId64 ", but count is %" PRId64, at, total,
                         rtt->count);
    return STATUS_OK;
}

enum status validate_rtt(const struct rtt *rtt, const char *at, struct fault *fault)
{
    enum status status = check_quantiles(rtt, at, fault);

    return status == STATUS_OK ? check_histogram(rtt, at, fault) : status;
}
