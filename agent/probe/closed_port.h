/* A port where nobody listens: "no socket" is another count than "buffer full", and the sender
 * hears of it late. */
#ifndef SONDE_PROBE_CLOSED_PORT_H
#define SONDE_PROBE_CLOSED_PORT_H

#include "proto/wire/buffers.h"

/* Sends to a port of loopback that was bound a moment ago and is closed. out_result->sent is what
 * the kernel took. Each ECONNREFUSED that surfaced (in a later send, or at the end) is counted in
 * refused.econnrefused, and it belongs to a datagram that was sent before: so it is beside `sent`,
 * not in addition to it. The kernel's rate limit for ICMP may make it fewer than `sent`. */
enum status closed_port_measure(enum family family, int64_t sends,
                                struct closed_port_result *out_result,
                                struct fault *fault) must_check;

#endif
