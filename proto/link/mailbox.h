/* Two threads' mailboxes: a pair of ZeroMQ inproc sockets. Each end belongs to one thread. */
#ifndef SONDE_LINK_MAILBOX_H
#define SONDE_LINK_MAILBOX_H

#include "proto/base/buf.h"
#include "proto/link/loop.h"

struct mailbox;

/* Both ends, made by the loop's thread; `theirs` is handed to the other thread, which frees it. */
enum status mailbox_pair(struct loop *loop, struct mailbox **out_mine, struct mailbox **out_theirs,
                         struct fault *fault) must_check;
void mailbox_free(struct mailbox *mailbox);

/* Queues one message, copied. STATUS_AGAIN when the other end has 1,000 unread. */
enum status mailbox_post(struct mailbox *mailbox, const void *bytes, size_t length) must_check;

/* Takes the next message into out_bytes (emptied first; its cap is what bounds it); waits at most
 * timeout_ns (0: looks only). STATUS_AGAIN when there is none. */
enum status mailbox_take(struct mailbox *mailbox, int64_t timeout_ns,
                         struct buf *out_bytes) must_check;

/* In the loop's thread: calls when something is there. */
void mailbox_watch(struct mailbox *mailbox, struct loop *loop, loop_handler *handler,
                   void *context);
void mailbox_unwatch(struct mailbox *mailbox, struct loop *loop);

/* A descriptor that a poller of the other thread can wait on, edge-triggered: when it is readable,
 * take until STATUS_AGAIN. */
int mailbox_fd(const struct mailbox *mailbox);

#endif
