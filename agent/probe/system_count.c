/* Owns how a family's count is found among the system's counters. */
#include "agent/probe/system_count.h"

#include <assert.h>

#include "agent/host/counters.h"

enum status system_counters(struct counters *out_counters, struct fault *fault)
{
    struct counter_snapshot snapshot;
    enum status status = counters_read(NULL, &snapshot, fault);

    if (status != STATUS_OK)
        return status;
    *out_counters = snapshot.total;
    counter_snapshot_done(&snapshot);
    return STATUS_OK;
}

int64_t system_count_between(const struct counters *before, const struct counters *after,
                             enum counter udp, enum family family)
{
    enum counter own = (enum counter)(udp - UDP_DELIVERED + UDP6_DELIVERED);
    struct counters delta;
    bool reset[COUNTER_COUNT];

    assert(udp <= UDP_MEMORY_ERRORS);
    counters_subtract(before, after, counters_width32(), &delta, reset);
    if (family == FAMILY_IPV6 && before->value[own] != NONE_INT)
        return delta.value[own];
    return delta.value[udp];
}
