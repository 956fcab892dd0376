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

/* What all phases of a case have in common; all borrowed. */
struct session_ground {
    struct stamp_format format;
    const struct pattern *pattern;
    struct timebase timebase;
    uint16_t hello_ssid; /* of the hellos before the phases (agreement.h); 0: there are none */
};

struct session {
    struct session_ground ground;
    uint16_t ssid; /* of this phase alone; not 0 (RFC 8972 section 3) */
    uint16_t error_estimate;
    size_t payload;
    size_t head; /* bytes in front of the padding */
};

/* `payload` must be stamp_size_ok in the ground's mode. */
void session_init(struct session *session, uint16_t ssid, size_t payload,
                  const struct session_ground *ground);

/* What both ends of an authenticated session fill their pattern from. */
uint64_t session_seed(const uint8_t key[STAMP_KEY_SIZE]);

uint64_t session_timestamp(const struct session *session, struct mono time);

enum session_kin {
    SESSION_FOREIGN, /* nothing of this phase */
    SESSION_HELLO,   /* of the agreement before it, come again: means nothing any more */
    SESSION_OWN
};

/* What a datagram is, whatever its padding. SESSION_OWN: of this phase, by size, SSID and, in
 * authenticated mode, first of all by its HMAC; then what is a reply is no request, as the octets
 * are not zero that a request has zero. */
enum session_kin session_get_request(const struct session *session, const uint8_t *bytes,
                                     size_t length, struct stamp_request *out_request);
enum session_kin session_get_reply(const struct session *session, const uint8_t *bytes,
                                   size_t length, struct stamp_reply *out_reply);

/* True when the bytes behind the base packet are this session's padding for `sequence`, unchanged.
 * Flags of the padding's TLV must be `flags`. */
bool session_padding_ok(const struct session *session, uint32_t sequence, uint8_t flags,
                        const uint8_t *bytes);

/* True when a datagram of this phase is as its sender made it, as far as its receiver can know: the
 * octets that a sender leaves zero are, and the padding is right. So no reply is a request, in no
 * mode. */
bool session_request_intact(const struct session *session, const struct stamp_request *request,
                            const uint8_t *bytes);
bool session_reply_intact(const struct session *session, const struct stamp_reply *reply,
                          const uint8_t *bytes);

#endif
