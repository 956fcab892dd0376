/* The datagrams of a session that probes a path (kind mtu): pure, no I/O and no clock.
 *
 * All are authenticated STAMP (RFC 8762) under the session's key; a session of kind mtu differs
 * from others in that its answers are small whatever they answer (RFC 8972 lets a reflector be
 * configured so), so the way back cannot spoil what is measured on the way there.
 *
 * A probe is a request of exactly the size that is asked about: 112 bytes, or at least 116 with one
 * Extra Padding TLV that is filled from the session's pattern. Its Sequence Number has the class in
 * its two highest bits and a number behind. Its Timestamp is the time of sending, with the lowest
 * 20 bits (a quarter of a millisecond, which the Error Estimate covers) by lot: who has not seen
 * the datagram can neither answer nor quote it.
 *
 * An answer is a bare reply of 112 bytes, so never larger than its probe. Under its HMAC stand
 * copies of the probe's sequence and timestamp, as its own Sequence Number how many bytes of
 * payload arrived and, as its Timestamp, which of the numbers before have come (mtu_came.h): so
 * when an answer is lost the next one tells of its probe. A datagram that is not as it was made
 * (cut, or the padding changed) has none.
 *
 * Each way has an SSID of its own, so no probe can be turned round: from the caller to the listener
 * that of PART_WARMUP, from the listener to the caller that of PART_MEASURE (agreement.h).
 */
#ifndef SONDE_PROBE_MTU_DATAGRAM_H
#define SONDE_PROBE_MTU_DATAGRAM_H

#include "agent/probe/session.h"

enum mtu_class {
    MTU_CLASS_PROBE,    /* never cut: not answered when it came in fragments */
    MTU_CLASS_TRACE,    /* the same, with few hops */
    MTU_CLASS_FRAGMENT, /* may be cut: answered in any case */
    MTU_CLASS_OPEN      /* to the listener: this is the source port of flow `number` */
};

enum { MTU_ANSWER_SIZE = STAMP_AUTHENTICATED_SIZE, MTU_NUMBERS = 1 << 30 };

uint32_t mtu_sequence(enum mtu_class class, uint32_t number);
enum mtu_class mtu_class_of(uint32_t sequence);
uint32_t mtu_number_of(uint32_t sequence);

/* How one end speaks. */
struct mtu_speech {
    struct session_ground ground;
    uint16_t own_ssid, peer_ssid; /* of what this end asks, and of what it is asked */
    uint16_t error_estimate;
};

/* What the ground points to is borrowed. */
void mtu_speech_init(struct mtu_speech *speech, const struct session_ground *ground,
                     bool is_listener);

/* What was sent: all that is needed to know it again. */
struct mtu_sent {
    uint32_t sequence;
    uint32_t payload; /* 0: nothing was sent */
    uint64_t timestamp;
};

/* The timestamp of what is sent at `now`; `random`: any number. */
uint64_t mtu_timestamp(const struct mtu_speech *speech, struct mono now, uint32_t random);

/* Writes the probe in front of its padding; returns how many bytes those are. The padding is
 * pattern_slice of its sequence. */
size_t mtu_put_probe(const struct mtu_speech *speech, const struct mtu_sent *sent,
                     uint8_t out_head[STAMP_HEAD_MAX]);

enum mtu_kin {
    MTU_FOREIGN, /* not of this session */
    MTU_HELLO,   /* of its agreement */
    MTU_REQUEST,
    MTU_CUT, /* a request that is not as it was made */
    MTU_REPLY
};

/* Filled for its kin alone. */
struct mtu_heard {
    struct stamp_request request;
    struct stamp_reply reply;
};

/* What a datagram that was received is. */
enum mtu_kin mtu_read(const struct mtu_speech *speech, const uint8_t *bytes, size_t length,
                      struct mtu_heard *out_heard);

/* How a request has come. */
struct mtu_coming {
    size_t length; /* of its payload */
    struct mono at;
    uint64_t before; /* which of the numbers before it have come (mtu_came_add) */
};

/* The answer to a request. */
void mtu_put_answer(const struct mtu_speech *speech, const struct stamp_request *request,
                    const struct mtu_coming *coming, uint8_t out_bytes[MTU_ANSWER_SIZE]);

/* Which numbers before the one that is answered have come. */
uint64_t mtu_answer_before(const struct stamp_reply *reply);

/* What one flow has sent lately. Fresh when zeroed. */
enum { MTU_RING_SLOTS = 1024 }; /* a power of two; twice as many as are ever outstanding */

struct mtu_ring {
    struct mtu_sent slots[MTU_RING_SLOTS];
    uint32_t newest; /* the slot */
};

void mtu_ring_put(struct mtu_ring *ring, const struct mtu_sent *sent);

/* NULL: not sent lately. Borrowed until it is forgotten. */
const struct mtu_sent *mtu_ring_find(const struct mtu_ring *ring, uint32_t sequence);

/* The latest of all with more than `payload` bytes (else the latest at all); NULL: nothing was
 * sent. */
const struct mtu_sent *mtu_ring_above(const struct mtu_ring *ring, int64_t payload);

/* What was sent, if the reply answers it in its whole size; else NULL. */
const struct mtu_sent *mtu_ring_answered(const struct mtu_ring *ring,
                                         const struct stamp_reply *reply);

/* What an ICMP message quotes of a datagram's payload (RFC 8899 section 4.6.1). */
enum mtu_quote {
    MTU_QUOTE_MATCHED, /* a datagram of ours, nonce included */
    MTU_QUOTE_SHORT,   /* too little to tell: RFC 792 asks for ports and length alone */
    MTU_QUOTE_FOREIGN  /* nothing that was sent lately */
};

/* "matched", ... */
const char *mtu_quote_name(enum mtu_quote quote);

/* *out_sent: the datagram, if it can be told (always when matched), else NULL. */
enum mtu_quote mtu_ring_match(const struct mtu_speech *speech, const struct mtu_ring *ring,
                              const uint8_t *quote, size_t length,
                              const struct mtu_sent **out_sent);

#endif
