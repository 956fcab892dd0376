/* Owns how a phase's datagrams look beyond STAMP: their size, padding and timestamps. */
#include "agent/probe/session.h"

#include <assert.h>

#include "proto/base/octets.h"

/* Timestamps come from the host's clock without its synchronisation being known: S = 0, one second
 * of error (RFC 4656 section 4.1.2). */
#define ERROR_NS NS_PER_S

void session_init(struct session *session, uint16_t ssid, size_t payload,
                  const struct session_ground *ground)
{
    assert(ssid != 0 && stamp_size_ok(ground->format.mode, payload));
    *session = (struct session){
        .ground = *ground,
        .ssid = ssid,
        .error_estimate = stamp_error_estimate(ERROR_NS, false, false),
        .payload = payload,
        .head = stamp_head_size(ground->format.mode, payload),
    };
}

uint64_t session_seed(const uint8_t key[STAMP_KEY_SIZE])
{
    uint8_t digest[DIGEST_SIZE];

    digest_sha256(key, STAMP_KEY_SIZE, digest);
    return octets_get64(digest);
}

uint64_t session_timestamp(const struct session *session, struct mono time)
{
    const struct timebase *timebase = &session->ground.timebase;

    return stamp_ntp((struct wall){ timebase->wall.ns + mono_between(timebase->mono, time) });
}

/* A size that can be neither of this phase nor a hello is not worth an HMAC. */
static bool size_fits(const struct session *session, size_t length)
{
    return length == session->payload ||
           (session->ground.hello_ssid != 0 && length == STAMP_AUTHENTICATED_SIZE);
}

static enum session_kin kin_of(const struct session *session, uint16_t ssid, size_t length)
{
    uint16_t hello = session->ground.hello_ssid;

    if (ssid == session->ssid)
        return length == session->payload ? SESSION_OWN : SESSION_FOREIGN;
    return hello != 0 && length == STAMP_AUTHENTICATED_SIZE && (ssid == hello || ssid == hello + 1)
               ? SESSION_HELLO
               : SESSION_FOREIGN;
}

enum session_kin session_get_request(const struct session *session, const uint8_t *bytes,
                                     size_t length, struct stamp_request *out_request)
{
    const struct stamp_format *format = &session->ground.format;

    if (!size_fits(session, length) ||
        stamp_get_request(format, bytes, length, out_request) != STATUS_OK)
        return SESSION_FOREIGN;
    /* Under an HMAC nothing was damaged: one with the key made it so, and no sender did. */
    if (format->mode == STAMP_AUTHENTICATED && !stamp_request_zeros(format->mode, bytes))
        return SESSION_FOREIGN;
    return kin_of(session, out_request->ssid, length);
}

enum session_kin session_get_reply(const struct session *session, const uint8_t *bytes,
                                   size_t length, struct stamp_reply *out_reply)
{
    if (!size_fits(session, length) ||
        stamp_get_reply(&session->ground.format, bytes, length, out_reply) != STATUS_OK)
        return SESSION_FOREIGN;
    return kin_of(session, out_reply->ssid, length);
}

bool session_padding_ok(const struct session *session, uint32_t sequence, uint8_t flags,
                        const uint8_t *bytes)
{
    size_t padding = session->payload - session->head;
    const uint8_t *tlv = bytes + session->head - STAMP_TLV_HEADER_SIZE;

    if (session->head == stamp_base_size(session->ground.format.mode))
        return true;
    return tlv[0] == flags && tlv[1] == STAMP_TLV_PADDING &&
           octets_get16(tlv + 2) == (uint16_t)padding &&
           pattern_matches(session->ground.pattern, sequence, bytes + session->head, padding);
}

bool session_request_intact(const struct session *session, const struct stamp_request *request,
                            const uint8_t *bytes)
{
    return stamp_request_zeros(session->ground.format.mode, bytes) &&
           session_padding_ok(session, request->sequence, STAMP_FLAG_UNRECOGNIZED, bytes);
}

bool session_reply_intact(const struct session *session, const struct stamp_reply *reply,
                          const uint8_t *bytes)
{
    return stamp_reply_zeros(session->ground.format.mode, bytes) &&
           reply->sender_error_estimate == session->error_estimate &&
           session_padding_ok(session, reply->sender_sequence, 0, bytes);
}
