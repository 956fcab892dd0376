/* What a channel is, and how one of its connections lives and ends. Part of channel.
 *
 * Whatever happens to a connection (bytes, a deadline, a call of the owner, ZeroMQ's word that it
 * is gone) goes to its peer first; then it is attended, which looks at what has become of it:
 * frames go to the owner, output to ZeroMQ, an end is told once. Handlers may do anything: a
 * connection's memory goes only when the last call that could know it has returned (channel_leave).
 */
#ifndef SONDE_LINK_CHANNEL_LIFE_H
#define SONDE_LINK_CHANNEL_LIFE_H

#include "proto/link/channel_socket.h"
#include "proto/link/channel_table.h"
#include "proto/link/channel_wait.h"

struct channel {
    struct loop *loop;
    const struct tls_context *context;
    struct channel_rules rules;
    struct channel_events events;
    size_t slots_max;    /* with those that are not closed yet; what open files allow */
    const char *refused; /* the address of the one that down is being called for; else NULL */
    struct channel_socket *socket;
    bool connects; /* the socket does */
    bool ipv4_only;
    unsigned made; /* connections that were begun on this socket */
    struct channel_table table;
    struct channel_queue queue; /* to be attended, at the end of this turn */
    struct channel_wait wait;   /* what came from patient ones and was not looked at yet */
    struct loop_timer queue_timer, look_timer, wait_timer;
    int64_t look_ns; /* the pause after the next look for connections that ended unsaid; 0: none */
    channel_peer last_number;
    struct channel_counts counts;
    size_t live, strangers; /* that the owner has not been told the end of */
    size_t held;            /* bytes that wait for all */
    unsigned depth;         /* calls into the channel that have not returned */
    bool freed;
};

/* Around everything that may call the owner. After channel_leave the channel may be gone. */
void channel_enter(struct channel *channel);
void channel_leave(struct channel *channel);

/* A new connection. */
struct channel_slot *channel_begin(struct channel *channel, channel_peer number, uint64_t key,
                                   const struct peer_rules *rules);

/* It is attended at the end of this turn. */
void channel_later(struct channel *channel, struct channel_slot *slot);

/* Attends all that wait now. */
void channel_attend_all(struct channel *channel, struct mono now);

/* Gives frames that have come, and up, to the owner. */
void channel_deliver(struct channel *channel, struct channel_slot *slot);

/* Closes it when the channel's context has its certificate among the revoked; true then. */
bool channel_judge(struct channel *channel, struct channel_slot *slot);

/* Tells the owner that it is down, unless it knows. */
void channel_tell_down(struct channel *channel, struct channel_slot *slot, const char *reason);

/* ZeroMQ has let go of it. */
void channel_lose(struct channel *channel, struct channel_slot *slot, const char *reason);

/* Takes it out of the channel without a word to ZeroMQ. */
void channel_release(struct channel *channel, struct channel_slot *slot);

/* Says bye as far as ZeroMQ takes it now, and takes it out; for when its socket is freed next. */
void channel_part(struct channel *channel, struct channel_slot *slot, const char *reason);

/* Counts what waits for it anew; drops the one that holds most when all hold too much. */
void channel_weigh(struct channel *channel, struct channel_slot *slot);

#endif
