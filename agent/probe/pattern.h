/* The contents of padding: pseudorandom (RFC 8972 section 4.1), the same for both ends of a
 * session, and another slice of it for neighbouring sequence numbers, so that bytes of one datagram
 * in another are noticed. Pure. */
#ifndef SONDE_PROBE_PATTERN_H
#define SONDE_PROBE_PATTERN_H

#include <stdint.h>

#include "proto/wire/limits.h"

enum { PATTERN_SLICES = 64, PATTERN_STEP = 64 };

struct pattern {
    uint8_t bytes[PAYLOAD_MAX_IPV6 + 1 + PATTERN_SLICES * PATTERN_STEP];
};

/* Fills it from a seed (xorshift64*). */
void pattern_init(struct pattern *pattern, uint64_t seed);

/* The padding of a datagram of this sequence number, at least PAYLOAD_MAX_IPV6 bytes. */
const uint8_t *pattern_slice(const struct pattern *pattern, uint32_t sequence);

#endif
