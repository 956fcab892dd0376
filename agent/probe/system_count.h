/* What the kernel counts for the whole system, other programs included, around an experiment. */
#ifndef SONDE_PROBE_SYSTEM_COUNT_H
#define SONDE_PROBE_SYSTEM_COUNT_H

#include "proto/base/addr.h"
#include "proto/wire/counters.h"

/* All counters now. */
enum status system_counters(struct counters *out_counters, struct fault *fault) must_check;

/* What one of the counters UDP_DELIVERED to UDP_MEMORY_ERRORS gained for this family: IPv6 has its
 * own where the system counts apart, else both share the one. NONE_INT when not available or reset.
 */
int64_t system_count_between(const struct counters *before, const struct counters *after,
                             enum counter udp, enum family family);

#endif
