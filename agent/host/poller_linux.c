/* Owns a set of descriptors: few are asked for by ppoll, many are watched by epoll.
 *
 * epoll leaves a callback in each socket that runs for every datagram, also while nobody waits;
 * with a thread that is busy reading it costs more than asking a few descriptors now and then.
 * epoll_wait and not epoll_pwait2, which older kernels and C libraries lack: its grain is the
 * millisecond.
 */
#include "agent/host/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"

enum { FEW = 32, EVENTS_PER_WAIT = 64 };

struct poller {
    int epoll; /* -1 while they are few */
    size_t count;
    struct pollfd few[FEW];
    uint64_t tokens[FEW];
};

enum status poller_new(struct poller **out_poller, struct fault *fault)
{
    struct poller *poller = calloc(1, sizeof *poller);

    (void)fault;
    if (poller == NULL)
        abort();
    poller->epoll = -1;
    *out_poller = poller;
    return STATUS_OK;
}

void poller_free(struct poller *poller)
{
    if (poller == NULL)
        return;
    if (poller->epoll >= 0)
        close(poller->epoll);
    free(poller);
}

static enum status watch(struct poller *poller, int fd, uint64_t token, struct fault *fault)
{
    struct epoll_event event;

    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.u64 = token;
    if (epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return fault_errno(fault, errno, "cannot watch descriptor %d", fd);
    return STATUS_OK;
}

/* They are many now: all go to epoll. */
static enum status start_epoll(struct poller *poller, struct fault *fault)
{
    enum status status = STATUS_OK;

    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll < 0)
        return fault_errno(fault, errno, "cannot make an epoll descriptor");
    for (size_t i = 0; i < poller->count && status == STATUS_OK; i++)
        status = watch(poller, poller->few[i].fd, poller->tokens[i], fault);
    return status;
}

enum status poller_add(struct poller *poller, int fd, uint64_t token, struct fault *fault)
{
    enum status status = STATUS_OK;

    if (fcntl(fd, F_GETFD) < 0)
        return fault_errno(fault, errno, "cannot watch descriptor %d", fd);
    if (poller->epoll < 0 && poller->count < FEW) {
        poller->few[poller->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
        poller->tokens[poller->count++] = token;
        return STATUS_OK;
    }
    if (poller->epoll < 0)
        status = start_epoll(poller, fault);
    return status == STATUS_OK ? watch(poller, fd, token, fault) : status;
}

/* Up, so that a wait never ends before its time and spins; 0 stays 0. */
static int milliseconds(int64_t timeout_ns)
{
    int64_t ms;

    if (timeout_ns <= 0)
        return 0;
    ms = (timeout_ns - 1) / NS_PER_MS + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static size_t wait_many(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    int room = cap < EVENTS_PER_WAIT ? (int)cap : EVENTS_PER_WAIT;
    int count = epoll_wait(poller->epoll, events, room, milliseconds(timeout_ns));

    for (int i = 0; i < count; i++)
        out_tokens[i] = events[i].data.u64;
    return count > 0 ? (size_t)count : 0;
}

static size_t wait_few(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap)
{
    int64_t ns = timeout_ns > 0 ? timeout_ns : 0;
    struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_S),
                                .tv_nsec = (long)(ns % NS_PER_S) };
    int ready = ppoll(poller->few, (nfds_t)poller->count, &timeout, NULL);
    size_t count = 0;

    for (size_t i = 0; i < poller->count && ready > 0 && count < cap; i++) {
        if (poller->few[i].revents != 0)
            out_tokens[count++] = poller->tokens[i];
    }
    return count;
}

size_t poller_wait(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap)
{
    if (cap == 0)
        return 0;
    return poller->epoll >= 0 ? wait_many(poller, timeout_ns, out_tokens, cap)
                              : wait_few(poller, timeout_ns, out_tokens, cap);
}
