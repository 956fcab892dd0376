/* Owns the four datagrams before a phase, and who believes what after each. */
#include "agent/probe/agreement.h"

#include <assert.h>
#include <string.h>

#include "proto/base/octets.h"

enum { NO_TTL = 255 };

/* Nobody reads time from these datagrams: one second of error, no synchronisation. */
static uint16_t estimate(void)
{
    return stamp_error_estimate(NS_PER_S, false, false);
}

static struct nonce nonce_of(const uint8_t random[12])
{
    return (struct nonce){ octets_get32(random), octets_get64(random + sizeof(uint32_t)) };
}

static bool nonce_equal(struct nonce a, struct nonce b)
{
    return a.sequence == b.sequence && a.timestamp == b.timestamp;
}

static uint16_t ssid_of(uint16_t first, enum session_part part)
{
    return (uint16_t)(first + part);
}

/* --- the sender's side ---------------------------------------------------------------------- */

void hello_init(struct hello *hello, const struct digest_key *key, uint16_t ssid, struct mono now)
{
    *hello = (struct hello){ .format = { STAMP_AUTHENTICATED, key },
                             .ssid = ssid,
                             .next_at = now,
                             .pause_ns = HELLO_FIRST_NS,
                             .rtt_ns = -1 };
}

bool hello_send(struct hello *hello, const uint8_t random[12], struct mono now,
                uint8_t out_bytes[HELLO_SIZE])
{
    struct nonce nonce = hello->confirming ? hello->guest : nonce_of(random);
    const struct stamp_request request = {
        .sequence = nonce.sequence,
        .timestamp = nonce.timestamp,
        .error_estimate = estimate(),
        .ssid = ssid_of(hello->ssid, hello->confirming ? PART_CONFIRM : PART_HELLO),
    };

    if (hello->agreed || hello->sent == HELLO_TRIES || mono_between(hello->next_at, now) < 0)
        return false;
    if (!hello->confirming)
        hello->tries[hello->hellos++] = (struct hello_try){ nonce, now, false };
    hello->sent++;
    hello->next_at = mono_after(now, hello->pause_ns);
    hello->pause_ns *= 2;
    if (hello->pause_ns > HELLO_LAST_NS)
        hello->pause_ns = HELLO_LAST_NS;
    stamp_put_request(&hello->format, &request, HELLO_SIZE, out_bytes);
    return true;
}

struct mono hello_due(const struct hello *hello)
{
    return hello->agreed ? (struct mono){ INT64_MAX } : hello->next_at;
}

/* The hello that has this nonce and no answer yet. */
static struct hello_try *try_of(struct hello *hello, struct nonce nonce)
{
    for (size_t i = 0; i < hello->hellos; i++) {
        if (!hello->tries[i].answered && nonce_equal(hello->tries[i].nonce, nonce))
            return &hello->tries[i];
    }
    return NULL;
}

/* The echo has the key and agrees; now it is told that it was heard, at once. */
static bool take_answer(struct hello *hello, const struct stamp_reply *reply, struct mono now)
{
    struct hello_try *answered =
        try_of(hello, (struct nonce){ reply->sender_sequence, reply->sender_timestamp });

    if (answered == NULL)
        return false;
    answered->answered = true;
    hello->answered++;
    if (hello->confirming)
        return false;
    hello->confirming = true;
    hello->guest = (struct nonce){ reply->sequence, reply->timestamp };
    hello->rtt_ns = mono_between(answered->at, now);
    hello->next_at = now;
    hello->pause_ns = HELLO_FIRST_NS;
    return true;
}

static bool take_end(struct hello *hello, const struct stamp_reply *reply)
{
    struct nonce copied = { reply->sender_sequence, reply->sender_timestamp };

    if (!hello->confirming || !nonce_equal(copied, hello->guest))
        return false;
    hello->answered++;
    hello->agreed = true;
    return true;
}

bool hello_receive(struct hello *hello, const uint8_t *bytes, size_t length, struct mono now)
{
    struct stamp_reply reply;

    if (length != HELLO_SIZE || hello->agreed ||
        stamp_get_reply(&hello->format, bytes, length, &reply) != STATUS_OK)
        return false;
    if (reply.ssid == ssid_of(hello->ssid, PART_HELLO))
        return take_answer(hello, &reply, now);
    return reply.ssid == ssid_of(hello->ssid, PART_CONFIRM) && take_end(hello, &reply);
}

bool hello_failed(const struct hello *hello, struct mono now)
{
    return !hello->agreed && hello->sent == HELLO_TRIES && mono_between(hello->next_at, now) >= 0;
}

/* --- the echo's side ------------------------------------------------------------------------ */

void greeting_init(struct greeting *greeting, const struct digest_key *key, uint16_t ssid)
{
    *greeting = (struct greeting){ .format = { STAMP_AUTHENTICATED, key }, .ssid = ssid };
}

static struct greeting_guest *guest_of(struct greeting *greeting, const struct addr *host)
{
    for (size_t i = 0; i < GREETING_GUESTS; i++) {
        struct greeting_guest *guest = &greeting->guests[i];

        if (guest->host.length > 0 && addr_equal(&guest->host, host))
            return guest;
    }
    return NULL;
}

/* The place of the oldest that has not confirmed: whoever replays a hello from many addresses
 * drives nobody out who has shown where he is. NULL when all have. */
static struct greeting_guest *place_for_guest(struct greeting *greeting)
{
    for (size_t i = 0; i < GREETING_GUESTS; i++) {
        struct greeting_guest *guest = &greeting->guests[greeting->next];

        greeting->next = (greeting->next + 1) % GREETING_GUESTS;
        if (!guest->confirmed)
            return guest;
    }
    return NULL;
}

static bool take_hello(struct greeting *greeting, const struct addr *from, const uint8_t random[12],
                       struct nonce *out_own)
{
    struct greeting_guest *guest = guest_of(greeting, from);

    greeting->hellos++;
    if (guest == NULL) {
        guest = place_for_guest(greeting);
        if (guest == NULL)
            return false;
        *guest = (struct greeting_guest){ .host = *from, .nonce = nonce_of(random) };
    }
    *out_own = guest->nonce;
    return true;
}

static bool take_confirm(struct greeting *greeting, const struct addr *from,
                         const struct stamp_request *request)
{
    struct greeting_guest *guest = guest_of(greeting, from);

    greeting->hellos++;
    if (guest == NULL ||
        !nonce_equal(guest->nonce, (struct nonce){ request->sequence, request->timestamp }))
        return false;
    guest->confirmed = true;
    return true;
}

static void put_reply(const struct greeting *greeting, const struct stamp_request *request,
                      struct nonce own, uint8_t *bytes)
{
    const struct stamp_reply reply = {
        .sequence = own.sequence,
        .timestamp = own.timestamp,
        .error_estimate = estimate(),
        .ssid = request->ssid,
        .receive_timestamp = own.timestamp,
        .sender_sequence = request->sequence,
        .sender_timestamp = request->timestamp,
        .sender_error_estimate = request->error_estimate,
        .sender_ttl = NO_TTL,
    };

    stamp_put_reply(&greeting->format, &reply, bytes, HELLO_SIZE);
}

enum greeting_outcome greeting_receive(struct greeting *greeting, const struct addr *from,
                                       const uint8_t random[12], uint8_t *bytes, size_t length)
{
    struct nonce own = nonce_of(random);
    struct stamp_request request;
    bool confirming, wanted;

    if (length != HELLO_SIZE ||
        stamp_get_request(&greeting->format, bytes, length, &request) != STATUS_OK)
        return GREETING_FOREIGN;
    confirming = request.ssid == ssid_of(greeting->ssid, PART_CONFIRM);
    if (!confirming && request.ssid != ssid_of(greeting->ssid, PART_HELLO))
        return GREETING_FOREIGN;
    /* An answer of ours that comes back is none to be answered. */
    if (!stamp_request_zeros(STAMP_AUTHENTICATED, bytes))
        return GREETING_IGNORED;
    wanted = confirming ? take_confirm(greeting, from, &request)
                        : take_hello(greeting, from, random, &own);
    if (!wanted)
        return GREETING_IGNORED;
    greeting->answered++;
    put_reply(greeting, &request, own, bytes);
    return GREETING_ANSWER;
}

bool greeting_confirmed(const struct greeting *greeting, const struct addr *host)
{
    struct addr wanted = *host;

    addr_set_port(&wanted, 0);
    for (size_t i = 0; i < GREETING_GUESTS; i++) {
        struct addr guest = greeting->guests[i].host;

        if (!greeting->guests[i].confirmed)
            continue;
        addr_set_port(&guest, 0);
        if (addr_equal(&guest, &wanted))
            return true;
    }
    return false;
}
