/* What both roles know of one phase: how its datagrams look and which clock they carry. */
#ifndef SONDE_PROBE_SESSION_H
#define SONDE_PROBE_SESSION_H

#include "agent/probe/pattern.h"
#include "proto/base/clock.h"
#include "proto/wire/stamp.h"

/* One moment on both clocks. Wall times in datagrams are this wall time plus monotonic time since,
 * so a step of the wall clock changes no difference of timestamps. */
struct timebase {
    struct wall wall;
    struct mono mono;
};

struct session {
    struct stamp_format format;
    uint16_t ssid; /* of this phase alone; not 0 (RFC 8972 section 3) */
    uint16_t error_estimate;
    size_t payload;
    size_t head;                   /* bytes in front of the padding */
    const struct pattern *pattern; /* borrowed */
    struct timebase timebase;
};

/* A plain session; `payload` must be stamp_size_ok. */
void session_init(struct session *session, uint16_t ssid, size_t payload,
                  const struct pattern *pattern, struct timebase timebase);

uint64_t session_timestamp(const struct session *session, struct mono time);

/* True when the bytes behind the base packet are this session's padding for `sequence`, unchanged.
 * Flags of the padding's TLV must be `flags`. */
bool session_padding_ok(const struct session *session, uint32_t sequence, uint8_t flags,
                        const uint8_t *bytes);

/* True when a datagram that stamp_get_request or stamp_get_reply has read is as its sender made it,
 * as far as its receiver can know: the octets that a sender leaves zero are, and the padding is
 * right. So no reply is a request: its receive timestamp is where a request has zeros. */
bool session_request_intact(const struct session *session, const struct stamp_request *request,
                            const uint8_t *bytes);
bool session_reply_intact(const struct session *session, const struct stamp_reply *reply,
                          const uint8_t *bytes);

#endif
