/* Owns the counters' names and the arithmetic of two snapshots.
 * Knows nothing of where a system keeps them.
 */
#include "proto/wire/counters.h"

#define WRAP32 (INT64_C(1) << 32)

const char *const counter_names[] = {
    [UDP_DELIVERED] = "udp.delivered",
    [UDP_SENT] = "udp.sent",
    [UDP_NO_SOCKET] = "udp.no_socket",
    [UDP_RECEIVE_BUFFER_FULL] = "udp.receive_buffer_full",
    [UDP_SEND_BUFFER_FULL] = "udp.send_buffer_full",
    [UDP_CHECKSUM_ERRORS] = "udp.checksum_errors",
    [UDP_ERRORS] = "udp.errors",
    [UDP_MEMORY_ERRORS] = "udp.memory_errors",
    [UDP6_DELIVERED] = "udp6.delivered",
    [UDP6_SENT] = "udp6.sent",
    [UDP6_NO_SOCKET] = "udp6.no_socket",
    [UDP6_RECEIVE_BUFFER_FULL] = "udp6.receive_buffer_full",
    [UDP6_SEND_BUFFER_FULL] = "udp6.send_buffer_full",
    [UDP6_CHECKSUM_ERRORS] = "udp6.checksum_errors",
    [UDP6_ERRORS] = "udp6.errors",
    [UDP6_MEMORY_ERRORS] = "udp6.memory_errors",
    [IP_FRAGMENTS_CREATED] = "ip.fragments_created",
    [IP_FRAGMENTED] = "ip.fragmented",
    [IP_FRAGMENT_FAILURES] = "ip.fragment_failures",
    [IP_REASSEMBLED] = "ip.reassembled",
    [IP_REASSEMBLY_FAILURES] = "ip.reassembly_failures",
    [IP_REASSEMBLY_TIMEOUTS] = "ip.reassembly_timeouts",
    [IP_NO_ROUTE] = "ip.no_route",
    [IP_DISCARDS_IN] = "ip.discards_in",
    [IP_DISCARDS_OUT] = "ip.discards_out",
    [IP6_FRAGMENTS_CREATED] = "ip6.fragments_created",
    [IP6_FRAGMENTED] = "ip6.fragmented",
    [IP6_FRAGMENT_FAILURES] = "ip6.fragment_failures",
    [IP6_REASSEMBLED] = "ip6.reassembled",
    [IP6_REASSEMBLY_FAILURES] = "ip6.reassembly_failures",
    [IP6_REASSEMBLY_TIMEOUTS] = "ip6.reassembly_timeouts",
    [IP6_NO_ROUTE] = "ip6.no_route",
    [IP6_DISCARDS_IN] = "ip6.discards_in",
    [IP6_DISCARDS_OUT] = "ip6.discards_out",
    [SOFTNET_DROPPED] = "softnet.dropped",
    [SOFTNET_SQUEEZED] = "softnet.squeezed",
    [INTERFACE_RX_DROPPED] = "interface.rx_dropped",
    [INTERFACE_TX_DROPPED] = "interface.tx_dropped",
    [INTERFACE_RX_ERRORS] = "interface.rx_errors",
    [INTERFACE_TX_ERRORS] = "interface.tx_errors",
    [QDISC_DROPPED] = "qdisc.dropped",
};

_Static_assert(sizeof counter_names / sizeof counter_names[0] == COUNTER_COUNT,
               "every counter has a name");

void counters_init(struct counters *out_counters)
{
    for (int i = 0; i < COUNTER_COUNT; i++)
        out_counters->value[i] = NONE_INT;
}

/* after - before, or NONE_INT for a counter that was reset. */
static int64_t step(int64_t before, int64_t after, bool narrow)
{
    if (after >= before)
        return after - before;
    if (narrow && before < WRAP32 && after + WRAP32 - before < WRAP32 / 2)
        return after + WRAP32 - before;
    return NONE_INT;
}

void counters_subtract(const struct counters *before, const struct counters *after,
                       const bool *width32, struct counters *out_delta,
                       bool out_reset[COUNTER_COUNT])
{
    for (int i = 0; i < COUNTER_COUNT; i++) {
        int64_t from = before->value[i], to = after->value[i];
        bool known = from != NONE_INT && to != NONE_INT;
        int64_t delta = known ? step(from, to, width32 != NULL && width32[i]) : NONE_INT;

        out_delta->value[i] = delta;
        out_reset[i] = known && delta == NONE_INT;
    }
}
