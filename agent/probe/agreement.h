/* Before a host is flooded, it must have agreed: hellos, pure.
 *
 *     sender                                              echo
 *     hello     ssid,     random sequence and timestamp ->
 *               <- its reply: copies of both, and a random sequence and T3 of its own
 *     confirm   ssid + 1, sequence and timestamp = those of the reply ->
 *               <- its reply: copies of both
 *
 * What the echo says of its own is the same in each reply to one guest, so on a long path, where
 * several hellos are under way at once, any reply is as good for the confirm.
 *
 * All four are bare authenticated STAMP datagrams of 112 bytes (RFC 8762), so any authenticated
 * reflector with the key could answer the first; the copies stand under the HMAC and only who has
 * received a datagram knows what to copy. After the first reply the sender knows that the echo role
 * at that address has the key and agrees; after the confirm the echo knows that the sender really
 * is where its datagrams seem to come from, so it answers no spoofed address with more than hellos.
 */
#ifndef SONDE_PROBE_AGREEMENT_H
#define SONDE_PROBE_AGREEMENT_H

#include "agent/probe/session.h"
#include "proto/base/addr.h"

enum { HELLO_SIZE = STAMP_AUTHENTICATED_SIZE, HELLO_TRIES = 20 };

#define HELLO_FIRST_NS (50 * NS_PER_MS) /* until the first repeat; doubling up to HELLO_LAST_NS */
#define HELLO_LAST_NS  (500 * NS_PER_MS)

/* Which datagram of a session an SSID belongs to (message_open.ssid is the first of four). */
enum session_part { PART_HELLO, PART_CONFIRM, PART_WARMUP, PART_MEASURE, PART_COUNT };

/* A pair of random numbers that stands where a datagram has sequence and timestamp. */
struct nonce {
    uint32_t sequence;
    uint64_t timestamp;
};

/* A hello that was sent; an answer may come to any of them. */
struct hello_try {
    struct nonce nonce;
    struct mono at;
    bool answered;
};

/* The sender's side of it. */
struct hello {
    struct stamp_format format;
    uint16_t ssid;
    bool confirming, agreed;
    struct hello_try tries[HELLO_TRIES];
    size_t hellos;      /* of the tries that are hellos; the rest were confirms */
    struct nonce guest; /* what the echo has answered: confirming */
    struct mono next_at;
    int64_t pause_ns;
    int64_t sent, answered, rtt_ns; /* rtt_ns: of the first hello that was answered */
};

/* `key` is borrowed. The first hello is due now. */
void hello_init(struct hello *hello, const struct digest_key *key, uint16_t ssid, struct mono now);

/* True when a datagram is due at `now`: it is in out_bytes. `random` is 12 fresh random bytes; a
 * repeated hello is a new one, a repeated confirm is the same again. False also when HELLO_TRIES of
 * both were sent (hello_failed). */
bool hello_send(struct hello *hello, const uint8_t random[12], struct mono now,
                uint8_t out_bytes[HELLO_SIZE]);

/* When hello_send is next due, or it has failed; never once it has agreed. */
struct mono hello_due(const struct hello *hello);

/* A datagram came from the target. True when it moved things on. */
bool hello_receive(struct hello *hello, const uint8_t *bytes, size_t length, struct mono now);

bool hello_failed(const struct hello *hello, struct mono now);

/* A host that has said hello. */
struct greeting_guest {
    struct addr host; /* port included: of the hello */
    struct nonce nonce;
    bool confirmed;
};

enum { GREETING_GUESTS = 16 };

/* The echo's side: one per session. */
struct greeting {
    struct stamp_format format;
    uint16_t ssid;
    struct greeting_guest guests[GREETING_GUESTS];
    size_t next; /* the oldest is replaced, unless it has confirmed */
    int64_t hellos, answered;
};

/* `key` is borrowed. */
void greeting_init(struct greeting *greeting, const struct digest_key *key, uint16_t ssid);

enum greeting_outcome {
    GREETING_FOREIGN, /* no hello of this session: not touched */
    GREETING_IGNORED, /* one of this session, to be ignored */
    GREETING_ANSWER   /* bytes are the reply now */
};

/* Takes a datagram and turns it into its reply in place. `random`: 12 fresh random bytes. */
enum greeting_outcome greeting_receive(struct greeting *greeting, const struct addr *from,
                                       const uint8_t random[12], uint8_t *bytes, size_t length);

/* True when a host (its port does not matter) has confirmed. */
bool greeting_confirmed(const struct greeting *greeting, const struct addr *host);

#endif
