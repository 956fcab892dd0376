/* Owns how a phase's datagrams look beyond STAMP: their size, padding and timestamps. */
#include "agent/probe/session.h"

#include <assert.h>
#include <string.h>

/* Timestamps come from the host's clock without its synchronisation being known: S = 0, one second
 * of error (RFC 4656 section 4.1.2). */
#define ERROR_NS NS_PER_S

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
           memcmp(bytes + session->head, pattern_slice(session->pattern, sequence), padding) == 0;
}
