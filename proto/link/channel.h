/* Many TLS connections over one ZMQ_STREAM socket: a server that listens, or a client that
 * connects. Owns what ZMQ_STREAM leaves open: lost notices, old bytes on a new connection, peers
 * that never read, no deadlines. A connection that was once down never comes back: its number is
 * not used again.
 */
#ifndef SONDE_LINK_CHANNEL_H
#define SONDE_LINK_CHANNEL_H

#include "proto/link/loop.h"
#include "proto/link/peer.h"

/* A connection; 0 is none. */
typedef uint64_t channel_peer;

/* How the owner is told; called from the loop, but for what channel_close says. A handler may call
 * every function below, channel_free too. */
struct channel_events {
    void *context;
    void (*up)(void *context, channel_peer peer, const struct identity *identity,
               const char *address);
    /* bytes borrowed during the call */
    void (*message)(void *context, channel_peer peer, const void *bytes, size_t length);
    /* Once for each that was connected or accepted, also when it never was up (`was_up` false) or
     * was refused for a limit: then nothing else was said of it. */
    void (*down)(void *context, channel_peer peer, bool was_up, const char *reason);
};

/* Beyond outbound_cap ZeroMQ holds up to 128 KiB for a connection, and the kernel its buffers. */
struct channel_rules {
    unsigned roles;          /* who may be at the other end */
    unsigned patient;        /* roles of which much may come: others are heard before them */
    size_t peers_max;        /* connections at once; more are closed at once */
    size_t strangers_max;    /* connections before their handshake is over; more are, too */
    size_t outbound_cap;     /* of one peer; LIMIT_FRAME * 2 is the least */
    size_t outbound_all_cap; /* of all together: the peer that holds most is dropped */
};

/* Counts since the channel was made. */
struct channel_counts {
    uint64_t accepted, up;
    uint64_t refused_full, refused_strangers; /* for peers_max or open files; for strangers_max */
    uint64_t refused_tls;                     /* ended before it was up, by either side's word */
    uint64_t timeouts, slow;                  /* said nothing; did not read */
    uint64_t broken;                          /* gone without a goodbye, up or not */
    uint64_t frames_in, frames_out, bytes_in, bytes_out; /* bytes as on the wire */
};

struct channel;

/* What it is made from: rules and events are copied, the context is borrowed until channel_use or
 * channel_free. */
struct channel_setup {
    const struct tls_context *context;
    const struct channel_rules *rules;
    const struct channel_events *events;
};

/* Raises the soft limit of open files as far as peers_max needs and the system allows; what it does
 * not allow lowers peers_max. */
enum status channel_new(struct loop *loop, const struct channel_setup *setup,
                        struct channel **out_channel, struct fault *fault) must_check;

/* Says bye to everybody and closes; no event is called. What is unsent goes out in the background
 * for at most a second, which loop_free waits for. NULL is allowed. */
void channel_free(struct channel *channel);

/* New connections are made with this one; of those that are there, who is revoked by it is told so
 * and closed. */
void channel_use(struct channel *channel, const struct tls_context *context);

/* From now on; connections that are there already stay. `roles` cannot change. */
void channel_set_rules(struct channel *channel, const struct channel_rules *rules);

/* Listens on an address ("0.0.0.0:7862", "[::]:7862"). STATUS_AGAIN when the address is not usable
 * yet (EADDRNOTAVAIL: an IPv6 address may take 1.5 s), STATUS_EXISTS when it is taken. */
enum status channel_listen(struct channel *channel, const char *address,
                           struct fault *fault) must_check;

/* The port that it listens on (for port 0). */
uint16_t channel_port(const struct channel *channel);

/* Where to: "host:port" or "[v6]:port"; server_name and check_name as in tls_new. */
struct channel_target {
    const char *address;
    const char *server_name; /* NULL: none */
    bool check_name;
};

/* Begins a connection; up or down follows, never before it returns. STATUS_INVALID for an address
 * of another form, STATUS_NO_RESOURCE when there are peers_max. A name is resolved in the
 * background, by turns with and without IPv6 when it led nowhere. */
enum status channel_connect(struct channel *channel, const struct channel_target *target,
                            channel_peer *out_peer, struct fault *fault) must_check;

/* Queues one frame of at least one byte. STATUS_NOT_FOUND when the peer is gone or not up;
 * STATUS_TOO_LARGE when it is above LIMIT_FRAME, or the peer does not read: then it is dropped, and
 * down follows. */
enum status channel_send(struct channel *channel, channel_peer peer, const void *bytes,
                         size_t length) must_check;

/* Bytes that wait to be sent to this peer. */
size_t channel_pending(const struct channel *channel, channel_peer peer);

/* Says bye; down is called at once. Nothing of it comes after. */
void channel_close(struct channel *channel, channel_peer peer, const char *reason);

/* Where a connection comes from, also while down is called for it; "" when that is not known.
 * Borrowed until it is gone. */
const char *channel_address(const struct channel *channel, channel_peer peer);

/* How many connections the limit of open files leaves room for, up to a few more than peers_max. */
size_t channel_room(const struct channel *channel);

struct channel_counts channel_counts(const struct channel *channel);

/* Connections now, strangers included. */
size_t channel_peers(const struct channel *channel);

#endif
