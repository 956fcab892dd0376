/* The connections of a channel, found by their number and by their routing id, and a queue of those
 * that want to be looked at. Part of channel.
 */
#ifndef SONDE_LINK_CHANNEL_TABLE_H
#define SONDE_LINK_CHANNEL_TABLE_H

#include "proto/base/addr.h"
#include "proto/link/channel.h"

/* Why a connection ended, for the counts. */
enum channel_end { END_OTHER, END_TIMEOUT, END_SLOW, END_BROKEN, END_REFUSED };

/* One connection. It ends in two steps: the owner is told, once; ZeroMQ lets go of it. Between them
 * it says goodbye, and then it may be a ghost, without a peer, that ZeroMQ does not close yet. */
struct channel_slot {
    channel_peer number;
    uint64_t key;
    struct channel *channel;
    struct peer *peer;       /* NULL: a ghost */
    struct loop_timer timer; /* the peer's deadline, or the next attempt to send */
    int64_t retry_ns;        /* the next pause between attempts; 0: what was sent last was taken */
    bool connected;          /* TCP stands */
    bool lost;               /* ZeroMQ has let go of it */
    bool announced, told;    /* up, and down, were called */
    bool stranger;           /* its handshake is not over */
    enum channel_end end;
    size_t held; /* bytes that wait, as the channel has counted them */
    int fd;      /* see channel_fd.h */
    uint64_t ends;
    char address[ADDR_TEXT_SIZE]; /* before it is connected: what it connects to */
    struct channel_slot *next_by_number, *next_by_key, *next_in_queue;
    bool queued, released;
};

struct channel_queue {
    struct channel_slot *first, *last;
    size_t count;
};

/* Both numbers count up by one: their low bits are all the hash that is needed. */
struct channel_table {
    struct channel_slot **by_number, **by_key; /* each the first of a chain */
    size_t mask, count;
    struct channel_slot *released; /* linked by next_by_key */
};

/* For about `capacity` connections. */
void channel_table_init(struct channel_table *table, size_t capacity);

/* All must have been released. */
void channel_table_done(struct channel_table *table);

/* A new one, with only its two numbers set; neither may be there already. */
struct channel_slot *channel_table_add(struct channel_table *table, channel_peer number,
                                       uint64_t key);

/* NULL when there is none. */
struct channel_slot *channel_table_by_number(const struct channel_table *table,
                                             channel_peer number);
struct channel_slot *channel_table_by_key(const struct channel_table *table, uint64_t key);

/* Calls for each; the one that it is called for may be released. */
typedef void channel_visit(struct channel_slot *slot, void *context);
void channel_table_each(const struct channel_table *table, channel_visit *visit, void *context);

/* Takes it out. It stays readable until channel_table_sweep, because a handler may have been called
 * for it. */
void channel_table_release(struct channel_table *table, struct channel_slot *slot);

/* Frees what has been released and is not queued any more. */
void channel_table_sweep(struct channel_table *table);

/* At the end, once. */
void channel_queue_put(struct channel_queue *queue, struct channel_slot *slot);

/* NULL when it is empty. */
struct channel_slot *channel_queue_take(struct channel_queue *queue);

#endif
