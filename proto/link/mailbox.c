/* Owns one end of a pair of ZeroMQ inproc sockets, and what both ends know of each other: whether
 * they are still there. ZeroMQ does not tell; an empty message wakes who waits, and a flag says
 * it for certain (the empty one may not fit any more). Must not know what is posted.
 */
#include "proto/link/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#include "proto/base/memory.h"

/* What a pair holds in one direction is the sum of both sockets' marks. */
enum { MESSAGES_MAX = 1000, MARK = MESSAGES_MAX / 2 };

/* Belongs to both ends; the one that goes last frees it. */
struct pair {
    atomic_bool one_is_gone;
};

struct mailbox {
    void *socket;
    struct pair *pair;
};

/* NULL with errno. */
static struct mailbox *open_end(struct loop *loop, struct pair *pair)
{
    void *socket = zmq_socket(loop_zmq(loop), ZMQ_PAIR);
    struct mailbox *mailbox;
    const int mark = MARK, linger = 0;

    if (socket == NULL)
        return NULL;
    zmq_setsockopt(socket, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &mark, sizeof mark);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    mailbox = memory_new(1, sizeof *mailbox);
    *mailbox = (struct mailbox){ .socket = socket, .pair = pair };
    return mailbox;
}

static void close_end(struct mailbox *mailbox)
{
    if (mailbox != NULL)
        zmq_close(mailbox->socket);
    free(mailbox);
}

enum status mailbox_pair(struct loop *loop, struct mailbox **out_mine, struct mailbox **out_theirs,
                         struct fault *fault)
{
    struct pair *pair = memory_new(1, sizeof *pair);
    struct mailbox *mine = open_end(loop, pair), *theirs = open_end(loop, pair);
    char name[64];

    snprintf(name, sizeof name, "inproc://mailbox-%" PRIu64, loop_number(loop));
    if (mine == NULL || theirs == NULL || zmq_bind(mine->socket, name) != 0 ||
        zmq_connect(theirs->socket, name) != 0) {
        fault_set(fault, STATUS_NO_RESOURCE, "making a mailbox: %s", zmq_strerror(errno));
        close_end(mine);
        close_end(theirs);
        free(pair);
        return STATUS_NO_RESOURCE;
    }
    *out_mine = mine;
    *out_theirs = theirs;
    return STATUS_OK;
}

void mailbox_free(struct mailbox *mailbox)
{
    struct pair *pair;

    if (mailbox == NULL)
        return;
    pair = mailbox->pair;
    if (atomic_exchange(&pair->one_is_gone, true))
        free(pair);
    else
        zmq_send(mailbox->socket, "", 0, ZMQ_DONTWAIT);
    close_end(mailbox);
}

static bool other_is_gone(const struct mailbox *mailbox)
{
    return atomic_load(&mailbox->pair->one_is_gone);
}

enum status mailbox_post(struct mailbox *mailbox, const void *bytes, size_t length)
{
    assert(length > 0);
    if (other_is_gone(mailbox))
        return STATUS_NOT_FOUND;
    if (zmq_send(mailbox->socket, bytes, length, ZMQ_DONTWAIT) >= 0)
        return STATUS_OK;
    assert(errno == EAGAIN || errno == EINTR);
    return STATUS_AGAIN;
}

/* STATUS_AGAIN when there is no message. */
static enum status receive(const struct mailbox *mailbox, struct buf *out_bytes)
{
    zmq_msg_t message;
    int length;
    enum status status;

    zmq_msg_init(&message);
    length = zmq_msg_recv(&message, mailbox->socket, ZMQ_DONTWAIT);
    if (length < 0) {
        assert(errno == EAGAIN || errno == EINTR);
        zmq_msg_close(&message);
        return STATUS_AGAIN;
    }
    buf_done(out_bytes);
    buf_append(out_bytes, zmq_msg_data(&message), zmq_msg_size(&message));
    status = length == 0 ? STATUS_NOT_FOUND : buf_status(out_bytes);
    zmq_msg_close(&message);
    return status;
}

static bool wait_for_message(const struct mailbox *mailbox, int64_t timeout_ns)
{
    zmq_pollitem_t item = { .socket = mailbox->socket, .events = ZMQ_POLLIN };
    int64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS != 0);
    int ready = zmq_poll(&item, 1, ms > INT_MAX ? INT_MAX : (long)ms);

    assert(ready >= 0 || errno == EINTR);
    return ready > 0;
}

enum status mailbox_take(struct mailbox *mailbox, int64_t timeout_ns, struct buf *out_bytes)
{
    /* Asked first: what was posted before the other end went is there now. */
    bool gone = other_is_gone(mailbox);
    enum status status = receive(mailbox, out_bytes);

    if (status == STATUS_AGAIN && gone)
        return STATUS_NOT_FOUND;
    if (status != STATUS_AGAIN || timeout_ns <= 0 || !wait_for_message(mailbox, timeout_ns))
        return status;
    return receive(mailbox, out_bytes);
}

void mailbox_watch(struct mailbox *mailbox, struct loop *loop, loop_handler *handler, void *context)
{
    loop_watch_socket(loop, mailbox->socket, handler, context);
}

void mailbox_unwatch(struct mailbox *mailbox, struct loop *loop)
{
    loop_unwatch_socket(loop, mailbox->socket);
}

int mailbox_fd(const struct mailbox *mailbox)
{
    int fd = -1;
    size_t size = sizeof fd;
    int failed = zmq_getsockopt(mailbox->socket, ZMQ_FD, &fd, &size);

    assert(!failed);
    return fd;
}
