/* One connection of the control channel: handshake, framing, liveness, end. Pure: bytes and `now`
 * in, bytes, frames and the next deadline out.
 *
 *     HANDSHAKE -> CONFIRM -> UP -> CLOSING -> DOWN      (and from each to DOWN)
 *
 * HANDSHAKE  TLS. Over after PEER_HANDSHAKE_NS or down.
 * CONFIRM    client only: TLS is done here, but the server may still refuse our certificate; its
 *            first frame (every server sends a ping at once) ends it. The same deadline.
 * UP         frames flow. A ping is sent when nothing else was for PEER_PING_NS; nothing heard for
 *            PEER_IDLE_NS ends it. So does the end of either side's certificate.
 * CLOSING    bye and close_notify, or an alert, are on their way; when all was sent and the other
 *            side has ended too it is over, at most after PEER_CLOSING_NS.
 * DOWN       for good, with a reason.
 *
 * A frame is a length of 4 bytes (big endian, 1 to LIMIT_FRAME) and that many bytes. ping and bye
 * (proto/wire/message.h) are sent and taken here; they are known by their type as the first key, in
 * its shortest form, as message_put writes it.
 */
#ifndef SONDE_LINK_PEER_H
#define SONDE_LINK_PEER_H

#include "proto/base/buf.h"
#include "proto/link/tls.h"

#define PEER_HANDSHAKE_NS (10 * NS_PER_S)
#define PEER_PING_NS      (10 * NS_PER_S)
#define PEER_IDLE_NS      (30 * NS_PER_S)
#define PEER_CLOSING_NS   (2 * NS_PER_S)

enum peer_state { PEER_HANDSHAKE, PEER_CONFIRM, PEER_UP, PEER_CLOSING, PEER_DOWN };

extern const char *const peer_state_names[];

/* What one side expects of the other; copied. */
struct peer_rules {
    enum tls_side side;
    unsigned roles;          /* who may be there: a set of 1 << enum identity_role */
    const char *server_name; /* client: see tls_new; may be NULL */
    bool check_name;
    size_t outbound_cap; /* bytes that may wait to be sent; at least LIMIT_FRAME */
};

struct peer;

struct peer *peer_new(const struct tls_context *context, const struct peer_rules *rules,
                      struct mono now, struct wall wall);
void peer_free(struct peer *peer);

/* Bytes came from the network. */
void peer_input(struct peer *peer, const void *bytes, size_t length, struct mono now);

/* The connection is gone. */
void peer_lost(struct peer *peer, const char *reason);

/* Looks at the deadlines. */
void peer_tick(struct peer *peer, struct mono now);

/* When peer_tick is next due. */
struct mono peer_deadline(const struct peer *peer);

/* The next frame that has come, borrowed until peer_next_frame, peer_input or peer_free is called;
 * false when none is whole. Take all after each peer_input: what came before the other side's bye
 * or end is still given out in CLOSING, and a frame of a wrong length is found here. */
bool peer_next_frame(struct peer *peer, const uint8_t **out_bytes, size_t *out_length);

/* Queues one frame. STATUS_TOO_LARGE: above LIMIT_FRAME, or the other side does not read and the
 * outbound cap is reached (then the peer goes DOWN); STATUS_INVALID when not UP. */
enum status peer_send(struct peer *peer, const void *bytes, size_t length,
                      struct mono now) must_check;

/* Bytes for the network: borrowed; `peer_sent` says how many of them were taken. */
size_t peer_output(struct peer *peer, const uint8_t **out_bytes);
void peer_sent(struct peer *peer, size_t length);

/* Says bye with the reason and closes. */
void peer_close(struct peer *peer, const char *reason, struct mono now);

enum peer_state peer_state(const struct peer *peer);

/* Who it is; known from UP on (server: from the end of the handshake), NULL before. Borrowed. */
const struct identity *peer_identity(const struct peer *peer);

/* See tls_is_revoked. */
bool peer_is_revoked(const struct peer *peer, const struct tls_context *context);

/* Why it is DOWN or CLOSING, for people; "" before. What the other side said stands behind "the
 * other side says: ". */
const char *peer_reason(const struct peer *peer);

/* True when it ended for a reason that will not go away by itself soon (a certificate or role was
 * refused): a client should wait longer before it tries again. */
bool peer_was_refused(const struct peer *peer);

#endif
