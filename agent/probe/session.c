/* Owns how a phase's datagrams look beyond STAMP: their size, padding and timestamps. */
#include "agent/probe/session.h"

#include <assert.h>

/* Timestamps come from the host's clock without its synchronisation being known: S = 0, one second
 * of error (RFC 4656 section 4.1.2). */
#define ERROR_NS NS_PER_S

/* Octets that must be zero in a plain base packet (RFC 8762 figures 4 and 6). The authenticated
 * ones are under the HMAC. */
enum {
    REQUEST_ZEROS = 16,
    REPLY_ZEROS = 38,
    REPLY_TTL = 40,
    REPLY_ZEROS_BEHIND_TTL = 41,
    ZEROS_END = STAMP_PLAIN_SIZE
};

void session_init(struct session *session, uint16_t ssid, size_t payload,
                  const struct pattern *pattern, struct timebase timebase)
{
    assert(ssid != 0 && stamp_size_ok(STAMP_PLAIN, payload));
    *session = (struct session){
        .format = { .mode = STAMP_PLAIN },
        .ssid = ssid,
        .error_estimate = stamp_error_estimate(ERROR_NS, false, false),
        .payload = payload,
        .head = stamp_head_size(STAMP_PLAIN, payload),
        .pattern = pattern,
        .timebase = timebase,
    };
}

uint64_t session_timestamp(const struct session *session, struct mono time)
{
    int64_t since = mono_between(session->timebase.mono, time);

    return stamp_ntp((struct wall){ session->timebase.wall.ns + since });
}

bool session_padding_ok(const struct session *session, uint32_t sequence, uint8_t flags,
                        const uint8_t *bytes)
{
    size_t padding = session->payload - session->head;
    const uint8_t *tlv = bytes + session->head - STAMP_TLV_HEADER_SIZE;

    if (session->head == STAMP_PLAIN_SIZE)
        return true;
    return tlv[0] == flags && tlv[1] == STAMP_TLV_PADDING && tlv[2] == (uint8_t)(padding >> 8) &&
           tlv[3] == (uint8_t)padding &&
           pattern_matches(session->pattern, sequence, bytes + session->head, padding);
}

static bool all_zero(const uint8_t *bytes, size_t from, size_t to)
{
    uint8_t any = 0;

    for (size_t i = from; i < to; i++)
        any |= bytes[i];
    return any == 0;
}

bool session_request_intact(const struct session *session, const struct stamp_request *request,
                            const uint8_t *bytes)
{
    if (session->format.mode == STAMP_PLAIN && !all_zero(bytes, REQUEST_ZEROS, ZEROS_END))
        return false;
    return session_padding_ok(session, request->sequence, STAMP_FLAG_UNRECOGNIZED, bytes);
}

bool session_reply_intact(const struct session *session, const struct stamp_reply *reply,
                          const uint8_t *bytes)
{
    if (session->format.mode == STAMP_PLAIN &&
        !(all_zero(bytes, REPLY_ZEROS, REPLY_TTL) &&
          all_zero(bytes, REPLY_ZEROS_BEHIND_TTL, ZEROS_END)))
        return false;
    return reply->sender_error_estimate == session->error_estimate &&
           session_padding_ok(session, reply->sender_sequence, 0, bytes);
}
