/* What a reflector does with the TLVs behind a base packet: RFC 8972 section 4. For stamp.c only.
 *
 * This reflector processes Extra Padding, Follow-Up Telemetry (as a stateless reflector: zeros)
 * and, with a key, HMAC. Every other type asks for facts that a `struct stamp_reply` does not hold
 * (addresses, traffic class, counters), so it keeps U, which is how section 4 says "not processed".
 */
#ifndef SONDE_WIRE_STAMP_TLV_H
#define SONDE_WIRE_STAMP_TLV_H

#include "proto/wire/stamp.h"

/* True when the TLVs of a request, still as received, may be used (section 4.8): the HMAC TLV is
 * where it must be and verifies; or there is none and none is needed, which in authenticated mode
 * means no TLV at all or a single Extra Padding. Plain without a key: always. */
bool stamp_tlv_verify(const struct stamp_format *format, const uint8_t *bytes, size_t length);

/* Makes the reply's TLVs of the request's, in place, behind a base packet that is the reply's
 * already (the HMAC TLV covers its Sequence Number). `verified`: what stamp_tlv_verify said. */
void stamp_tlv_reflect(const struct stamp_format *format, bool verified, uint8_t *bytes,
                       size_t length);

#endif
