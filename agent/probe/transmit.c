/* Owns what to do when a send does not take a datagram. */
#include "agent/probe/transmit.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>

#include "agent/probe/ledger.h"
#include "proto/base/clock.h"

enum {
    PATIENCE_MS = 20,       /* for a send buffer or queue to empty, per call */
    EARLIER_ERRORS_MAX = 16 /* asynchronous errors taken at one datagram */
};

struct effort {
    const struct transmit_way *way;
    int patience_ms;
    int earlier_errors;
};

/* ENOBUFS says nothing through POLLOUT, so the wait is short and counted either way. */
static bool try_again_later(struct effort *effort)
{
    struct pollfd ready = { .fd = effort->way->fd, .events = POLLOUT };

    if (effort->patience_ms == 0)
        return false;
    effort->patience_ms--;
    if (effort->way->waited_ns != NULL)
        *effort->way->waited_ns += 2 * NS_PER_MS;
    if (poll(&ready, 1, 1) > 0)
        poll(NULL, 0, 1);
    return true;
}

/* True when the same datagram is to be tried again. */
static bool is_transient(struct effort *effort, int error)
{
    switch (error) {
    case 0:
    case EINTR:
        return true;
    case EAGAIN:
    case ENOBUFS:
        return try_again_later(effort);
    case ECONNREFUSED:
        if (effort->earlier_errors == 0)
            return false;
        effort->earlier_errors--;
        ledger_refuse_earlier(effort->way->leg);
        return true;
    default:
        return false;
    }
}

uint64_t transmit(const struct transmit_way *way, struct datagram *datagrams, size_t count)
{
    struct effort effort = { way, PATIENCE_MS, EARLIER_ERRORS_MAX };
    uint64_t refused = 0;
    size_t done = 0;

    assert(count <= DATAGRAM_BATCH_MAX);
    while (done < count) {
        int error = 0;
        size_t taken = way->engine->send(way->fd, datagrams + done, count - done, &error);

        way->leg->attempted += (int64_t)taken;
        way->leg->sent += (int64_t)taken;
        done += taken;
        if (taken > 0)
            effort.earlier_errors = EARLIER_ERRORS_MAX;
        if (done == count || (taken > 0 && error == 0) || is_transient(&effort, error))
            continue;
        ledger_refuse(way->leg, error);
        refused |= UINT64_C(1) << done;
        done++;
    }
    return refused;
}
