/* Datagrams of STAMP: RFC 8762 base packets and RFC 8972 TLVs, plain and authenticated.
 *
 * Bytes in, structs out, no I/O and no clock. Sizes: 44 octets plain, 112 authenticated; a larger
 * payload is filled by one Extra Padding TLV (type 1), so the sizes 45..47 and 113..115 do not
 * exist. Layouts: RFC 8762 sections 4.2 and 4.3, SSID: RFC 8972 section 3.
 */
#ifndef SONDE_WIRE_STAMP_H
#define SONDE_WIRE_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/clock.h"
#include "proto/base/digest.h"
#include "proto/base/status.h"

enum stamp_mode { STAMP_PLAIN, STAMP_AUTHENTICATED };

enum {
    STAMP_PLAIN_SIZE = 44,
    STAMP_AUTHENTICATED_SIZE = 112,
    STAMP_TLV_HEADER_SIZE = 4,
    STAMP_HEAD_MAX = STAMP_AUTHENTICATED_SIZE + STAMP_TLV_HEADER_SIZE,
    STAMP_MAC_SIZE = 16,
    STAMP_KEY_SIZE = 32
};

enum stamp_tlv_type {
    STAMP_TLV_PADDING = 1,
    STAMP_TLV_LOCATION = 2,
    STAMP_TLV_TIMESTAMP_INFO = 3,
    STAMP_TLV_CLASS_OF_SERVICE = 4,
    STAMP_TLV_DIRECT_MEASUREMENT = 5,
    STAMP_TLV_ACCESS_REPORT = 6,
    STAMP_TLV_FOLLOW_UP = 7,
    STAMP_TLV_HMAC = 8
};

enum { STAMP_FLAG_UNRECOGNIZED = 0x80, STAMP_FLAG_MALFORMED = 0x40, STAMP_FLAG_INTEGRITY = 0x20 };

/* How one session speaks. */
struct stamp_format {
    enum stamp_mode mode;
    /* Made of STAMP_KEY_SIZE bytes, borrowed. Authenticated: always there. Plain: NULL, or the key
     * with which a reflector verifies and makes HMAC TLVs where a sender put one. */
    const struct digest_key *key;
};

/* What a sender says. Timestamps are as on the wire, in host byte order: NTP 64 bit, or truncated
 * PTPv2 when the Error Estimate's Z bit says so. */
struct stamp_request {
    uint32_t sequence;
    uint64_t timestamp;
    uint16_t error_estimate;
    uint16_t ssid;
};

/* What a reflector says. */
struct stamp_reply {
    uint32_t sequence;
    uint64_t timestamp; /* T3 */
    uint16_t error_estimate;
    uint16_t ssid;
    uint64_t receive_timestamp; /* T2 */
    uint32_t sender_sequence;
    uint64_t sender_timestamp; /* T1 */
    uint16_t sender_error_estimate;
    uint8_t sender_ttl;
};

/* The base packet of a mode. */
static inline size_t stamp_base_size(enum stamp_mode mode)
{
    return mode == STAMP_PLAIN ? STAMP_PLAIN_SIZE : STAMP_AUTHENTICATED_SIZE;
}

/* True when a payload of this size can be a STAMP datagram: the base size, or at least the base
 * size and a TLV header, up to the largest UDP payload there is. */
bool stamp_size_ok(enum stamp_mode mode, size_t payload);

/* Bytes in front of the padding of a payload of this size: base packet, and TLV header if any. */
size_t stamp_head_size(enum stamp_mode mode, size_t payload);

/* Writes base packet and the header of the Extra Padding TLV (flags U, as a sender must) for a
 * datagram of `payload` bytes: stamp_head_size bytes at `out_head`. The padding itself is the
 * caller's. `payload` must be stamp_size_ok. */
void stamp_put_request(const struct stamp_format *format, const struct stamp_request *request,
                       size_t payload, uint8_t *out_head);

/* Reads and checks a request: size, HMAC, error estimate's multiplier not 0 (RFC 4656 4.1.2).
 * STATUS_INVALID: no STAMP; STATUS_DENIED: wrong HMAC. TLVs are not looked at. */
enum status stamp_get_request(const struct stamp_format *format, const uint8_t *bytes,
                              size_t length, struct stamp_request *out_request) must_check;

/* Turns a request (already got, of `length` bytes) into its reply in place, in the same length:
 * base packet from `reply`, each TLV as RFC 8972 section 4 demands. U is cleared on what we
 * process (Extra Padding; Follow-Up Telemetry, answered with zeros as a stateless reflector must;
 * HMAC when there is a key) and set on every other type, whose value stays verbatim. M is set
 * where a length is not the type's or runs past the end, and what follows stays verbatim. I is set
 * on all when the HMAC TLV does not verify, is misplaced or, in authenticated mode, is missing
 * although there is more than a single Extra Padding; otherwise the HMAC TLV is made anew. */
void stamp_put_reply(const struct stamp_format *format, const struct stamp_reply *reply,
                     uint8_t *bytes, size_t length);

/* As stamp_get_request, for a reply. */
enum status stamp_get_reply(const struct stamp_format *format, const uint8_t *bytes, size_t length,
                            struct stamp_reply *out_reply) must_check;

/* True when the octets of the base packet that a sender (a reflector) leaves zero are zero. A
 * reflector's packet is never a sender's: its sender's error estimate is where a sender has zeros.
 */
bool stamp_request_zeros(enum stamp_mode mode, const uint8_t *bytes);
bool stamp_reply_zeros(enum stamp_mode mode, const uint8_t *bytes);

/* One TLV, borrowed from the datagram. */
struct stamp_tlv {
    uint8_t flags;
    uint8_t type;
    uint16_t length;
    const uint8_t *value;
};

/* Walks the TLVs behind the base packet: *cursor starts at 0 and is the walk's own. STATUS_OK with
 * a TLV, STATUS_NOT_FOUND at the end, STATUS_INVALID where a TLV runs past the datagram. */
enum status stamp_next_tlv(enum stamp_mode mode, const uint8_t *bytes, size_t length,
                           size_t *cursor, struct stamp_tlv *out_tlv) must_check;

/* NTP 64-bit timestamp of a wall time (RFC 5905; era 0 and its wrap in 2036). */
uint64_t stamp_ntp(struct wall time);

/* Nanoseconds from timestamp `earlier` to `later`, both NTP or both PTP (`ptp`), wrapping
 * differences; signed. */
int64_t stamp_ntp_between(uint64_t earlier, uint64_t later);
int64_t stamp_ptp_between(uint64_t earlier, uint64_t later);

/* Error Estimate of RFC 4656 4.1.2 for an error of `error_ns` (at least 1 is taken). */
uint16_t stamp_error_estimate(int64_t error_ns, bool synchronized, bool ptp);

#endif
