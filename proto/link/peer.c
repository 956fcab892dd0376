/* Owns one connection of the control channel: its state, its frames and its deadlines. Must not
 * know sockets or clocks, nor what any message but ping and bye means.
 *
 * Frames are reassembled from what has come, never from what was announced. A connection that ends
 * on purpose says why in a bye; after its own bye a side hears nothing more.
 */
#include "proto/link/peer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/octets.h"
#include "proto/link/peer_frame.h"
#include "proto/link/peer_queue.h"
#include "proto/wire/limits.h"

enum {
    INBOUND_BYTES = 2 * LIMIT_FRAME, /* frames of one peer_input that nobody has taken yet */
    PIECE_BYTES = 16 << 10,          /* the plain bytes of one TLS record */
    SMALL_MESSAGE_BYTES = 1024,      /* ping or bye */
};

const char *const peer_state_names[] = { "handshake", "confirm", "up", "closing", "down" };

struct peer {
    struct tls *tls;
    enum peer_state state;
    enum tls_side side;
    unsigned roles;
    enum identity_role own_role;
    size_t outbound_cap;
    struct mono born;
    struct wall born_wall, own_expires;
    struct mono now;     /* of the last call that brought one */
    struct mono limit;   /* of HANDSHAKE, CONFIRM and CLOSING */
    struct mono expires; /* when the first of the two certificates ends */
    struct mono heard, said;
    struct peer_queue in, out;
    size_t lent;     /* bytes of `in` that the frame given out last takes */
    bool finished;   /* nothing more can come */
    bool deaf;       /* what comes is not looked at any more */
    bool identified; /* `identity` is known */
    bool refused;
    struct identity identity;
    char *reason; /* NULL: none yet */
};

/* Masked: it may come from the other side. */
static void set_reason(struct peer *peer, const char *reason)
{
    struct fault words;

    fault_set(&words, STATUS_OK, "%s", reason);
    free(peer->reason);
    peer->reason = memory_new(strlen(words.text) + 1, 1);
    memcpy(peer->reason, words.text, strlen(words.text));
}

/* The first reason stays; NULL is none. */
static void change_state(struct peer *peer, enum peer_state state, const char *reason)
{
    assert(state > peer->state);
    if (state == PEER_CLOSING)
        peer->limit = mono_after(peer->now, PEER_CLOSING_NS);
    if (state == PEER_DOWN)
        peer_queue_done(&peer->out);
    peer->state = state;
    if (reason != NULL && peer->reason == NULL)
        set_reason(peer, reason);
}

/* Whether CLOSING is over. */
static void settle(struct peer *peer)
{
    if (peer->state == PEER_CLOSING && peer->finished && peer_queue_length(&peer->out) == 0 &&
        (peer->deaf || peer_queue_length(&peer->in) == 0))
        change_state(peer, PEER_DOWN, NULL);
}

static void collect_output(struct peer *peer)
{
    struct buf *end = peer_queue_end(&peer->out);

    tls_output(peer->tls, end);
    if (buf_status(end) != STATUS_OK && peer->state != PEER_DOWN)
        change_state(peer, PEER_DOWN, "the other side does not read");
}

/* TLS is over, for a reason that is not ours to say: what it wants to say is still sent. */
static void finish(struct peer *peer, const char *reason)
{
    peer->finished = true;
    collect_output(peer);
    if (peer->state < PEER_CLOSING)
        change_state(peer, PEER_CLOSING, reason);
    settle(peer);
}

static void fail(struct peer *peer, enum status status, const char *reason)
{
    peer->refused = peer->refused || (status == STATUS_DENIED && peer->state < PEER_UP);
    finish(peer, reason);
}

/* Length and bytes, in as few TLS records as possible. */
static enum status put_frame(struct peer *peer, const void *bytes, size_t length)
{
    uint8_t piece[PIECE_BYTES];
    size_t first =
        length < sizeof piece - FRAME_HEADER_SIZE ? length : sizeof piece - FRAME_HEADER_SIZE;
    struct fault fault;
    enum status status;

    octets_put32(piece, (uint32_t)length);
    memcpy(piece + FRAME_HEADER_SIZE, bytes, first);
    status = tls_write(peer->tls, piece, FRAME_HEADER_SIZE + first, &fault);
    if (status == STATUS_OK)
        status = tls_write(peer->tls, (const uint8_t *)bytes + first, length - first, &fault);
    if (status != STATUS_OK) {
        fail(peer, status, fault.text);
        return STATUS_INVALID;
    }
    collect_output(peer);
    peer->said = peer->now;
    return STATUS_OK;
}

/* Whether the other side reads; if not, it is over. */
static bool has_room(struct peer *peer, size_t length)
{
    size_t waiting = peer_queue_length(&peer->out);
    struct fault words;

    if (waiting + length <= peer->outbound_cap)
        return true;
    fault_set(&words, STATUS_TOO_LARGE, "the other side does not read: %zu bytes wait for it",
              waiting);
    change_state(peer, PEER_DOWN, words.text);
    return false;
}

/* When it cannot be sent the peer is over already, so nobody needs to hear of it. */
static void put_ping(struct peer *peer)
{
    struct buf bytes;

    buf_init(&bytes, SMALL_MESSAGE_BYTES);
    frame_put_ping(&bytes);
    if (has_room(peer, bytes.length))
        (void)put_frame(peer, bytes.data, bytes.length);
    buf_done(&bytes);
}

static void put_bye(struct peer *peer, const char *reason)
{
    struct buf bytes;

    buf_init(&bytes, SMALL_MESSAGE_BYTES);
    frame_put_bye(&bytes, reason);
    (void)put_frame(peer, bytes.data, bytes.length);
    buf_done(&bytes);
}

/* With a bye; TLS is open. */
static void close_with(struct peer *peer, const char *reason)
{
    assert(peer->state < PEER_CLOSING && tls_is_open(peer->tls));
    put_bye(peer, reason);
    if (peer->state >= PEER_CLOSING)
        return;
    peer->deaf = true;
    change_state(peer, PEER_CLOSING, reason);
    tls_close(peer->tls);
    collect_output(peer);
    settle(peer);
}

/* When `end` will be on the other clock. */
static struct mono mono_of(const struct peer *peer, struct wall end)
{
    if (end.ns == INT64_MAX || peer->born_wall.ns < 0)
        return (struct mono){ INT64_MAX };
    if (end.ns < 0)
        end.ns = 0;
    return mono_after(peer->born, end.ns - peer->born_wall.ns);
}

/* The handshake is over here. */
static void greet(struct peer *peer)
{
    struct wall end = tls_peer_expires(peer->tls);
    struct fault fault;

    if (tls_identity(peer->tls, peer->roles, &peer->identity, &fault) != STATUS_OK) {
        peer->refused = true;
        close_with(peer, fault.text);
        return;
    }
    peer->identified = true;
    peer->expires = mono_of(peer, end.ns < peer->own_expires.ns ? end : peer->own_expires);
    peer->heard = peer->now;
    peer->said = peer->now;
    change_state(peer, peer->side == TLS_SERVER ? PEER_UP : PEER_CONFIRM, NULL);
    if (peer->side == TLS_SERVER)
        put_ping(peer);
}

/* Ends a connection whose other side breaks the rules. */
static void violate(struct peer *peer, const char *reason)
{
    if (peer->state < PEER_CLOSING)
        close_with(peer, reason);
    peer->deaf = true;
}

/* The first whole frame that waits; false when there is none. A length that is not allowed ends the
 * connection before there is room for it. */
static bool peek_frame(struct peer *peer, const uint8_t **out_bytes, size_t *out_length)
{
    const uint8_t *bytes;
    size_t there = peer_queue_peek(&peer->in, &bytes);
    uint32_t length = 0;
    struct fault words;

    switch (frame_look(bytes, there, &length)) {
    case FRAME_PART:
        return false;
    case FRAME_WRONG:
        fault_set(&words, STATUS_INVALID, "a frame of %" PRIu32 " bytes; 1 to %d are allowed",
                  length, LIMIT_FRAME);
        violate(peer, words.text);
        return false;
    case FRAME_WHOLE:
        break;
    }
    *out_bytes = bytes + FRAME_HEADER_SIZE;
    *out_length = length;
    return true;
}

static void take_bye(struct peer *peer, const struct message_bye *bye)
{
    struct fault words;

    if (bye->reason[0] != '\0')
        fault_set(&words, STATUS_OK, "the other side says: %s", bye->reason);
    else
        fault_set(&words, STATUS_OK, "the other side closed the connection");
    peer->refused = peer->refused || peer->state == PEER_CONFIRM;
    peer->deaf = true;
    set_reason(peer, words.text); /* says more than the end of TLS, which was seen before it */
    tls_close(peer->tls);
    finish(peer, words.text);
}

/* Takes the frame when it is a ping or a bye; true when it was one. */
static bool take_own(struct peer *peer, const uint8_t *bytes, size_t length)
{
    struct message_way way = { .from = peer->identity.role, .to = peer->own_role };
    union message message;
    struct fault fault;

    if (!frame_is(bytes, length, MESSAGE_PING) && !frame_is(bytes, length, MESSAGE_BYE))
        return false;
    if (message_get(bytes, length, way, &message, &fault) != STATUS_OK) {
        violate(peer, fault.text);
        return true;
    }
    peer_queue_take(&peer->in, FRAME_HEADER_SIZE + length);
    if (message.type == MESSAGE_BYE)
        take_bye(peer, &message.bye);
    message_done(&message);
    return true;
}

/* The server's first frame says that it took our certificate, unless it is a bye. */
static void confirm(struct peer *peer)
{
    const uint8_t *bytes;
    size_t length;

    if (!peek_frame(peer, &bytes, &length))
        return;
    (void)take_own(peer, bytes, length);
    if (peer->state == PEER_CONFIRM)
        change_state(peer, PEER_UP, NULL);
}

static void give_back(struct peer *peer)
{
    peer_queue_take(&peer->in, peer->lent);
    peer->lent = 0;
}

struct peer *peer_new(const struct tls_context *context, const struct peer_rules *rules,
                      struct mono now, struct wall wall)
{
    struct peer *peer = memory_new(1, sizeof *peer);

    assert(rules->outbound_cap >= LIMIT_FRAME);
    peer->tls = tls_new(context, rules->side, rules->server_name, rules->check_name, wall);
    peer->state = PEER_HANDSHAKE;
    peer->side = rules->side;
    peer->roles = rules->roles;
    peer->own_role = tls_context_identity(context)->role;
    peer->outbound_cap = rules->outbound_cap;
    peer->born = now;
    peer->born_wall = wall;
    peer->own_expires = tls_context_expires(context);
    peer->limit = mono_after(now, PEER_HANDSHAKE_NS);
    peer->expires = (struct mono){ INT64_MAX };
    peer_queue_init(&peer->in, INBOUND_BYTES);
    peer_queue_init(&peer->out, rules->outbound_cap + LIMIT_FRAME);
    peer_input(peer, NULL, 0, now); /* a client speaks first */
    return peer;
}

void peer_free(struct peer *peer)
{
    if (peer == NULL)
        return;
    tls_free(peer->tls);
    peer_queue_done(&peer->in);
    peer_queue_done(&peer->out);
    free(peer->reason);
    free(peer);
}

void peer_input(struct peer *peer, const void *bytes, size_t length, struct mono now)
{
    struct buf *plain;
    size_t before;
    struct fault fault;
    enum status status;

    give_back(peer);
    peer->now = now;
    if (peer->state == PEER_DOWN || peer->finished)
        return;
    if (peer->deaf)
        peer_queue_done(&peer->in);
    plain = peer_queue_end(&peer->in);
    before = plain->length;
    status = tls_input(peer->tls, bytes, length, plain, &fault);
    if (plain->length > before)
        peer->heard = now;
    if (peer->state == PEER_HANDSHAKE && tls_is_open(peer->tls) && status == STATUS_OK)
        greet(peer);
    if (peer->state == PEER_CONFIRM)
        confirm(peer);
    if (status != STATUS_OK)
        fail(peer, status, fault.text);
    else if (tls_is_ended(peer->tls) && !peer->finished) {
        tls_close(peer->tls);
        finish(peer, "the other side closed the connection");
    }
    collect_output(peer);
    if (peer->state == PEER_UP)
        (void)has_room(peer, 0); /* TLS itself may have answered */
    settle(peer);
}

void peer_lost(struct peer *peer, const char *reason)
{
    if (peer->state != PEER_DOWN)
        change_state(peer, PEER_DOWN, reason);
}

static void tick_up(struct peer *peer)
{
    if (mono_between(peer->expires, peer->now) >= 0)
        close_with(peer, "a certificate of this connection has expired");
    else if (mono_between(peer->heard, peer->now) >= PEER_IDLE_NS)
        change_state(peer, PEER_DOWN, "nothing was heard for 30 s");
    else if (mono_between(peer->said, peer->now) >= PEER_PING_NS)
        put_ping(peer);
}

void peer_tick(struct peer *peer, struct mono now)
{
    peer->now = now;
    if (peer->state == PEER_UP) {
        tick_up(peer);
        return;
    }
    if (peer->state == PEER_DOWN || mono_between(peer->limit, now) < 0)
        return;
    change_state(peer, PEER_DOWN,
                 peer->state == PEER_HANDSHAKE ? "no TLS handshake within 10 s"
                                               : "the other side said nothing for 10 s");
}

struct mono peer_deadline(const struct peer *peer)
{
    struct mono ping = mono_after(peer->said, PEER_PING_NS);
    struct mono idle = mono_after(peer->heard, PEER_IDLE_NS);
    struct mono first = peer->expires;

    if (peer->state == PEER_DOWN)
        return (struct mono){ INT64_MAX };
    if (peer->state != PEER_UP)
        return peer->limit;
    if (ping.ns < first.ns)
        first = ping;
    return idle.ns < first.ns ? idle : first;
}

bool peer_next_frame(struct peer *peer, const uint8_t **out_bytes, size_t *out_length)
{
    const uint8_t *bytes;
    size_t length;

    give_back(peer);
    while ((peer->state == PEER_UP || peer->state == PEER_CLOSING) && !peer->deaf) {
        if (!peek_frame(peer, &bytes, &length))
            break;
        if (take_own(peer, bytes, length))
            continue;
        peer->lent = FRAME_HEADER_SIZE + length;
        *out_bytes = bytes;
        *out_length = length;
        return true;
    }
    if (peer->finished)
        peer->deaf = true; /* what is left will never be whole */
    settle(peer);
    return false;
}

enum status peer_send(struct peer *peer, const void *bytes, size_t length, struct mono now)
{
    peer->now = now;
    if (peer->state != PEER_UP || length == 0)
        return STATUS_INVALID;
    if (length > LIMIT_FRAME || !has_room(peer, length))
        return STATUS_TOO_LARGE;
    return put_frame(peer, bytes, length);
}

size_t peer_output(struct peer *peer, const uint8_t **out_bytes)
{
    return peer_queue_peek(&peer->out, out_bytes);
}

void peer_sent(struct peer *peer, size_t length)
{
    if (peer->state == PEER_DOWN)
        return;
    peer_queue_take(&peer->out, length);
    settle(peer);
}

void peer_close(struct peer *peer, const char *reason, struct mono now)
{
    peer->now = now;
    if (peer->state == PEER_HANDSHAKE)
        change_state(peer, PEER_DOWN, reason);
    else if (peer->state < PEER_CLOSING)
        close_with(peer, reason);
}

enum peer_state peer_state(const struct peer *peer)
{
    return peer->state;
}

const struct identity *peer_identity(const struct peer *peer)
{
    return peer->identified ? &peer->identity : NULL;
}

bool peer_is_revoked(const struct peer *peer, const struct tls_context *context)
{
    return tls_is_revoked(peer->tls, context);
}

const char *peer_reason(const struct peer *peer)
{
    return peer->reason != NULL ? peer->reason : "";
}

bool peer_was_refused(const struct peer *peer)
{
    return peer->refused;
}
