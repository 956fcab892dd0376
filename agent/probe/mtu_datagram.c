/* Owns how probes and their answers look, and how they are known again in what comes back. Must not
 * know sockets, nor why a size is asked.
 */
#include "agent/probe/mtu_datagram.h"

#include <assert.h>
#include <string.h>

#include "agent/probe/agreement.h"
#include "proto/base/octets.h"

enum { CLASS_SHIFT = 30, LOT_BITS = 20, NO_TTL = 255 };

/* Sequence and timestamp: up to here in an authenticated request. */
enum { NONCE_END = 24 };

/* More than the lot in a timestamp. */
#define ERROR_NS NS_PER_S

uint32_t mtu_sequence(enum mtu_class class, uint32_t number)
{
    assert(number < MTU_NUMBERS);
    return (uint32_t) class << CLASS_SHIFT | number;
}

enum mtu_class mtu_class_of(uint32_t sequence)
{
    return (enum mtu_class)(sequence >> CLASS_SHIFT);
}

uint32_t mtu_number_of(uint32_t sequence)
{
    return sequence & (MTU_NUMBERS - 1);
}

void mtu_speech_init(struct mtu_speech *speech, const struct session_ground *ground,
                     bool is_listener)
{
    uint16_t there = (uint16_t)(ground->hello_ssid + PART_WARMUP);
    uint16_t back = (uint16_t)(ground->hello_ssid + PART_MEASURE);

    *speech = (struct mtu_speech){
        .ground = *ground,
        .own_ssid = is_listener ? back : there,
        .peer_ssid = is_listener ? there : back,
        .error_estimate = stamp_error_estimate(ERROR_NS, false, false),
    };
}

static uint64_t ntp_of(const struct mtu_speech *speech, struct mono now)
{
    const struct timebase *timebase = &speech->ground.timebase;

    return stamp_ntp((struct wall){ timebase->wall.ns + mono_between(timebase->mono, now) });
}

uint64_t mtu_timestamp(const struct mtu_speech *speech, struct mono now, uint32_t random)
{
    const uint64_t lots = (UINT64_C(1) << LOT_BITS) - 1;

    return (ntp_of(speech, now) & ~lots) | (random & lots);
}

size_t mtu_put_probe(const struct mtu_speech *speech, const struct mtu_sent *sent,
                     uint8_t out_head[STAMP_HEAD_MAX])
{
    const struct stamp_request request = { .sequence = sent->sequence,
                                           .timestamp = sent->timestamp,
                                           .error_estimate = speech->error_estimate,
                                           .ssid = speech->own_ssid };

    stamp_put_request(&speech->ground.format, &request, sent->payload, out_head);
    return stamp_head_size(STAMP_AUTHENTICATED, sent->payload);
}

/* --- what was received ---------------------------------------------------------------------- */

static bool is_as_made(const struct mtu_speech *speech, uint32_t sequence, const uint8_t *bytes,
                       size_t length)
{
    const uint8_t *tlv = bytes + STAMP_AUTHENTICATED_SIZE;
    size_t padding = length - STAMP_HEAD_MAX;

    if (length == STAMP_AUTHENTICATED_SIZE)
        return true;
    return tlv[0] == STAMP_FLAG_UNRECOGNIZED && tlv[1] == STAMP_TLV_PADDING &&
           octets_get16(tlv + 2) == padding &&
           pattern_matches(speech->ground.pattern, sequence, bytes + STAMP_HEAD_MAX, padding);
}

enum mtu_kin mtu_read(const struct mtu_speech *speech, const uint8_t *bytes, size_t length,
                      struct mtu_heard *out_heard)
{
    struct stamp_request request;

    if (stamp_get_request(&speech->ground.format, bytes, length, &request) != STATUS_OK)
        return MTU_FOREIGN;
    if (length == HELLO_SIZE && (request.ssid == speech->ground.hello_ssid + PART_HELLO ||
                                 request.ssid == speech->ground.hello_ssid + PART_CONFIRM))
        return MTU_HELLO;
    if (request.ssid == speech->peer_ssid && stamp_request_zeros(STAMP_AUTHENTICATED, bytes)) {
        out_heard->request = request;
        return is_as_made(speech, request.sequence, bytes, length) ? MTU_REQUEST : MTU_CUT;
    }
    /* What has only what a request has is none: this end's own that was sent back. */
    if (request.ssid == speech->own_ssid && length == MTU_ANSWER_SIZE &&
        !stamp_request_zeros(STAMP_AUTHENTICATED, bytes) &&
        stamp_get_reply(&speech->ground.format, bytes, length, &out_heard->reply) == STATUS_OK)
        return MTU_REPLY;
    return MTU_FOREIGN;
}

void mtu_put_answer(const struct mtu_speech *speech, const struct stamp_request *request,
                    const struct mtu_coming *coming, uint8_t out_bytes[MTU_ANSWER_SIZE])
{
    const struct stamp_reply reply = {
        .sequence = (uint32_t)coming->length,
        .timestamp = coming->before,
        .error_estimate = speech->error_estimate,
        .ssid = request->ssid,
        .receive_timestamp = ntp_of(speech, coming->at),
        .sender_sequence = request->sequence,
        .sender_timestamp = request->timestamp,
        .sender_error_estimate = request->error_estimate,
        .sender_ttl = NO_TTL,
    };

    stamp_put_reply(&speech->ground.format, &reply, out_bytes, MTU_ANSWER_SIZE);
}

uint64_t mtu_answer_before(const struct stamp_reply *reply)
{
    return reply->timestamp;
}

/* --- what was sent -------------------------------------------------------------------------- */

static uint32_t slot_of(uint32_t sequence)
{
    return sequence & (MTU_RING_SLOTS - 1);
}

void mtu_ring_put(struct mtu_ring *ring, const struct mtu_sent *sent)
{
    ring->newest = slot_of(sent->sequence);
    ring->slots[ring->newest] = *sent;
}

const struct mtu_sent *mtu_ring_find(const struct mtu_ring *ring, uint32_t sequence)
{
    const struct mtu_sent *sent = &ring->slots[slot_of(sequence)];

    return sent->payload > 0 && sent->sequence == sequence ? sent : NULL;
}

const struct mtu_sent *mtu_ring_above(const struct mtu_ring *ring, int64_t payload)
{
    const struct mtu_sent *newest = &ring->slots[ring->newest];

    for (uint32_t back = 0; back < MTU_RING_SLOTS; back++) {
        const struct mtu_sent *sent = &ring->slots[slot_of(ring->newest - back)];

        if (sent->payload > 0 && sent->payload > payload)
            return sent;
    }
    return newest->payload > 0 ? newest : NULL;
}

const struct mtu_sent *mtu_ring_answered(const struct mtu_ring *ring,
                                         const struct stamp_reply *reply)
{
    const struct mtu_sent *sent = mtu_ring_find(ring, reply->sender_sequence);

    return sent != NULL && sent->timestamp == reply->sender_timestamp &&
                   sent->payload == reply->sequence
               ? sent
               : NULL;
}

const char *mtu_quote_name(enum mtu_quote quote)
{
    static const char *const names[] = {
        [MTU_QUOTE_MATCHED] = "matched",
        [MTU_QUOTE_SHORT] = "too short to tell",
        [MTU_QUOTE_FOREIGN] = "not sent by us",
    };

    return names[quote];
}

enum mtu_quote mtu_ring_match(const struct mtu_speech *speech, const struct mtu_ring *ring,
                              const uint8_t *quote, size_t length, const struct mtu_sent **out_sent)
{
    const struct mtu_sent *sent;
    uint8_t head[STAMP_HEAD_MAX];
    size_t known;

    *out_sent = NULL;
    if (length < sizeof(uint32_t))
        return MTU_QUOTE_SHORT;
    sent = mtu_ring_find(ring, octets_get32(quote));
    if (sent == NULL)
        return MTU_QUOTE_FOREIGN;
    known = mtu_put_probe(speech, sent, head);
    if (memcmp(head, quote, length < known ? length : known) != 0)
        return MTU_QUOTE_FOREIGN;
    *out_sent = sent;
    return length < NONCE_END ? MTU_QUOTE_SHORT : MTU_QUOTE_MATCHED;
}
