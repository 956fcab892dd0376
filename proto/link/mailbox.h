/* Two threads' mailboxes: a pair of ZeroMQ inproc sockets. Each end belongs to one thread. */
#ifndef SONDE_LINK_MAILBOX_H
#define SONDE_LINK_MAILBOX_H

#include "proto/base/buf.h"
#include "proto/link/loop.h"

struct mailbox;

/* Both ends, made by the loop's thread; `theirs` is handed to the other thread (starting it is
 * enough), which frees it. loop_free waits until both are. */
enum status mailbox_pair(struct loop *loop, struct mailbox **out_mine, struct mailbox **out_theirs,
                         struct fault *fault) must_check;

/* What was posted before can still be taken at the other end. NULL is allowed. */
void mailbox_free(struct mailbox *mailbox);

/* Queues one message of at least one byte, copied. STATUS_AGAIN when the other end has 1,000
 * unread (room comes back in steps of up to 500); STATUS_NOT_FOUND when it has been freed. */
enum status mailbox_post(struct mailbox *mailbox, const void *bytes, size_t length) must_check;

/* Takes the next message into out_bytes (emptied first); waits at most timeout_ns (0: looks only),
 * less when a signal comes. STATUS_AGAIN when there is none; STATUS_TOO_LARGE when it was above
 * out_bytes->cap, and is lost; STATUS_NOT_FOUND, at once and from then on, when there is none and
 * the other end has been freed. */
enum status mailbox_take(struct mailbox *mailbox, int64_t timeout_ns,
                         struct buf *out_bytes) must_check;

/* In the loop's thread: calls when something is there, for each turn until it is taken. */
void mailbox_watch(struct mailbox *mailbox, struct loop *loop, loop_handler *handler,
                   void *context);
void mailbox_unwatch(struct mailbox *mailbox, struct loop *loop);

/* A descriptor for a poller of the end's own thread, edge-triggered: what it says is "look". Before
 * each wait take until STATUS_AGAIN (or STATUS_NOT_FOUND), also after a post, which can swallow the
 * edge of a message that has just come. Never read, write or close it. */
int mailbox_fd(const struct mailbox *mailbox);

#endif
