/* The contents of padding: pseudorandom (RFC 8972 section 4.1), the same for both ends of a
 * session, and another slice of it for neighbouring sequence numbers, so that bytes of one datagram
 * in another are noticed. Pure.
 *
 * It repeats after 4,032 bytes: few enough that what padding is compared with stays in a core's
 * nearest cache, and no multiple of a page, so that pages out of place are noticed too.
 */
#ifndef SONDE_PROBE_PATTERN_H
#define SONDE_PROBE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/limits.h"

enum { PATTERN_STEP = 64, PATTERN_SLICES = 63, PATTERN_PERIOD = PATTERN_STEP * PATTERN_SLICES };

struct pattern {
    uint8_t bytes[PAYLOAD_MAX_IPV6 + 1 + PATTERN_PERIOD];
};

/* Fills it from a seed (xorshift64*). */
void pattern_init(struct pattern *pattern, uint64_t seed);

/* The padding of a datagram of this sequence number, at least PAYLOAD_MAX_IPV6 bytes. */
const uint8_t *pattern_slice(const struct pattern *pattern, uint32_t sequence);

/* True when `bytes` are the first `length` (at most PAYLOAD_MAX_IPV6) of that padding. */
bool pattern_matches(const struct pattern *pattern, uint32_t sequence, const uint8_t *bytes,
                     size_t length);

#endif
