/* Owns an epoll descriptor. epoll_wait and not epoll_pwait2, which older kernels and C libraries
 * lack: its grain is the millisecond.
 */
#include "agent/host/poller.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "proto/base/clock.h"

enum { EVENTS_PER_WAIT = 64 };

struct poller {
    int fd;
};

enum status poller_new(struct poller **out_poller, struct fault *fault)
{
    struct poller *poller = malloc(sizeof *poller);

    if (poller == NULL)
        abort();
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->fd < 0) {
        free(poller);
        return fault_errno(fault, errno, "cannot make an epoll descriptor");
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

enum status poller_add(struct poller *poller, int fd, uint64_t token, struct fault *fault)
{
    struct epoll_event event;

    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.u64 = token;
    if (epoll_ctl(poller->fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return fault_errno(fault, errno, "cannot watch descriptor %d", fd);
    return STATUS_OK;
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

size_t poller_wait(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    int room = cap < EVENTS_PER_WAIT ? (int)cap : EVENTS_PER_WAIT;
    int count;

    if (room == 0)
        return 0;
    count = epoll_wait(poller->fd, events, room, milliseconds(timeout_ns));
    for (int i = 0; i < count; i++)
        out_tokens[i] = events[i].data.u64;
    return count > 0 ? (size_t)count : 0;
}
