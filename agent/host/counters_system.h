/* Between counters.c, counters_proc.c and the system's counters_*.c: nobody else includes this. */
#ifndef SONDE_HOST_COUNTERS_SYSTEM_H
#define SONDE_HOST_COUNTERS_SYSTEM_H

#include "agent/host/counters.h"

/* Fills a fresh snapshot from this host itself. */
void counters_read_system(struct counter_snapshot *snapshot);

/* Fills a fresh snapshot from the files under `root`; leaves qdisc.dropped alone. */
void counters_read_proc(const char *root, struct counter_snapshot *snapshot);

/* Writes down why the counters first..last are unavailable, for those that are. */
void counters_explain(struct counter_snapshot *snapshot, enum counter first, enum counter last,
                      const char *format, ...) printf_like(4, 5);

/* Makes a counter the sum, or unavailable with its reason when the sum is above 2^63-1 or
 * `overflowed`. */
void counters_put(struct counter_snapshot *snapshot, enum counter counter, uint64_t sum,
                  bool overflowed, const char *what);

/* Makes the four interface.* counters the sums over snapshot->interfaces; `source` is named where
 * there is none. */
void counters_sum_interfaces(struct counter_snapshot *snapshot, const char *source);

#endif
