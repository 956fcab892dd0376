/* How large may a UDP payload be? MTU arithmetic, nothing else.
 *
 * IPv4: 20 bytes of header plus options; IPv6: 40 bytes of base header plus extension headers; 8
 * bytes of UDP. Protocol maximum 65,507 / 65,527 (no jumbograms). RFC 791, 768, 8200.
 */
#ifndef SONDE_WIRE_BUDGET_H
#define SONDE_WIRE_BUDGET_H

#include "proto/base/addr.h"
#include "proto/wire/record.h"

enum {
    IP_OPTIONS_MAX = 40,           /* 60-byte IPv4 header, in steps of 4 */
    EXTENSION_HEADERS_MAX = 65528, /* in steps of 8 */
    MTU_MIN_IPV4 = 68,             /* RFC 791 */
    MTU_MIN_IPV6 = 1280            /* RFC 8200 section 5 */
};

/* STATUS_RANGE, with a fault that says what is allowed, when no header of the family can have
 * `extra_bytes` of IPv4 options or IPv6 extension headers. */
enum status budget_check_extra(enum family family, int64_t extra_bytes,
                               struct fault *fault) must_check;

/* The largest payload that fits into one packet of `mtu` bytes without fragmentation, never above
 * the protocol's maximum. STATUS_RANGE when the mtu is below the family's minimum or above
 * LIMIT_MTU, when budget_check_extra refuses `extra_bytes`, or when no payload byte is left. */
enum status budget_payload(enum family family, int64_t mtu, int64_t extra_bytes,
                           int64_t *out_payload, struct fault *fault) must_check;

/* The protocol's largest payload with these extra header bytes. STATUS_RANGE as above. */
enum status budget_protocol_maximum(enum family family, int64_t extra_bytes, int64_t *out_payload,
                                    struct fault *fault) must_check;

#endif
