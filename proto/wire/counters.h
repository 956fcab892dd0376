/* Kernel counters under our names, the same on every system (docs/counters.md has the fields). */
#ifndef SONDE_WIRE_COUNTERS_H
#define SONDE_WIRE_COUNTERS_H

#include <stdint.h>

#include "proto/wire/record.h"

enum counter {
    UDP_DELIVERED,
    UDP_SENT,
    UDP_NO_SOCKET,
    UDP_RECEIVE_BUFFER_FULL,
    UDP_SEND_BUFFER_FULL,
    UDP_CHECKSUM_ERRORS,
    UDP_ERRORS,
    UDP_MEMORY_ERRORS,
    UDP6_DELIVERED,
    UDP6_SENT,
    UDP6_NO_SOCKET,
    UDP6_RECEIVE_BUFFER_FULL,
    UDP6_SEND_BUFFER_FULL,
    UDP6_CHECKSUM_ERRORS,
    UDP6_ERRORS,
    UDP6_MEMORY_ERRORS,
    IP_FRAGMENTS_CREATED,
    IP_FRAGMENTED,
    IP_FRAGMENT_FAILURES,
    IP_REASSEMBLED,
    IP_REASSEMBLY_FAILURES,
    IP_REASSEMBLY_TIMEOUTS,
    IP_NO_ROUTE,
    IP_DISCARDS_IN,
    IP_DISCARDS_OUT,
    IP6_FRAGMENTS_CREATED,
    IP6_FRAGMENTED,
    IP6_FRAGMENT_FAILURES,
    IP6_REASSEMBLED,
    IP6_REASSEMBLY_FAILURES,
    IP6_REASSEMBLY_TIMEOUTS,
    IP6_NO_ROUTE,
    IP6_DISCARDS_IN,
    IP6_DISCARDS_OUT,
    SOFTNET_DROPPED,
    SOFTNET_SQUEEZED,
    INTERFACE_RX_DROPPED,
    INTERFACE_TX_DROPPED,
    INTERFACE_RX_ERRORS,
    INTERFACE_TX_ERRORS,
    QDISC_DROPPED,
    COUNTER_COUNT
};

/* COUNTER_COUNT names: "udp.delivered", ... */
extern const char *const counter_names[];

/* One snapshot or one difference; NONE_INT where the system does not have it. */
struct counters {
    int64_t value[COUNTER_COUNT];
};

/* All NONE_INT. */
void counters_init(struct counters *out_counters);

/* after - before. A counter that either side lacks is NONE_INT; one that went backwards is
 * NONE_INT in the difference and true in out_reset (measurement.md, "Kernel counters"). Sources
 * that are 32 bits wide on this system (`width32`[counter], may be NULL) wrap: 4294967290 to 5 is
 * 11 when the step is below 2^31, a reset otherwise. */
void counters_subtract(const struct counters *before, const struct counters *after,
                       const bool *width32, struct counters *out_delta,
                       bool out_reset[COUNTER_COUNT]);

#endif
