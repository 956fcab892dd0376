/* Owns a kqueue descriptor. */
#include "agent/host/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"

enum { EVENTS_PER_WAIT = 64 };

struct poller {
    int fd;
};

enum status poller_new(struct poller **out_poller, struct fault *fault)
{
    struct poller *poller = malloc(sizeof *poller);
    int error;

    if (poller == NULL)
        abort();
    poller->fd = kqueue();
    if (poller->fd < 0 || fcntl(poller->fd, F_SETFD, FD_CLOEXEC) != 0) {
        error = errno;
        if (poller->fd >= 0)
            close(poller->fd);
        free(poller);
        return fault_errno(fault, error, "cannot make a kqueue descriptor");
    }
    *out_poller = poller;
    return STATUS_OK;
}

void poller_free(struct poller *poller)
{
    if (poller == NULL)
        return;
    close(poller->fd);
    free(poller);
}

/* Tokens travel in udata, a pointer: 64 bits wide on every Mac that this is built for. */
_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "a token fits udata");

enum status poller_add(struct poller *poller, int fd, uint64_t token, struct fault *fault)
{
    struct kevent event;

    EV_SET(&event, (uintptr_t)fd, EVFILT_READ, EV_ADD, 0, 0, (void *)(uintptr_t)token);
    if (kevent(poller->fd, &event, 1, NULL, 0, NULL) != 0)
        return fault_errno(fault, errno, "cannot watch descriptor %d", fd);
    return STATUS_OK;
}

size_t poller_wait(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap)
{
    struct kevent events[EVENTS_PER_WAIT];
    int room = cap < EVENTS_PER_WAIT ? (int)cap : EVENTS_PER_WAIT;
    int64_t wait_ns = timeout_ns > 0 ? timeout_ns : 0;
    struct timespec timeout = { .tv_sec = (time_t)(wait_ns / NS_PER_S),
                                .tv_nsec = (long)(wait_ns % NS_PER_S) };
    int count;

    if (room == 0)
        return 0;
    count = kevent(poller->fd, NULL, 0, events, room, &timeout);
    for (int i = 0; i < count; i++)
        out_tokens[i] = (uint64_t)(uintptr_t)events[i].udata;
    return count > 0 ? (size_t)count : 0;
}
