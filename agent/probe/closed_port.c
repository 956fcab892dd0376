/* Owns what happens when nobody listens: which counter moves, and which error comes when. */
#include "agent/probe/closed_port.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/socket.h"
#include "agent/probe/ledger.h"
#include "agent/probe/system_count.h"

enum {
    PAYLOAD = 32,
    PATIENCE_MS = 500, /* for a busy kernel to deliver and count */
    LAST_MS = 20       /* for the error of the last datagram, which no later send tells */
};

/* A socket that is connected to a port which was free a moment ago. */
static enum status open_towards_nobody(enum family family, int *out_fd, struct fault *fault)
{
    struct addr any_port = addr_loopback(family, 0);
    struct addr nobody, own;
    int listener, fd;
    enum status status = socket_open(&any_port, &listener, &nobody, fault);

    if (status != STATUS_OK)
        return status;
    status = socket_open(&any_port, &fd, &own, fault);
    close(listener);
    if (status != STATUS_OK)
        return status;
    status = socket_connect(fd, &nobody, fault);
    if (status != STATUS_OK) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    return STATUS_OK;
}

/* One datagram. An ECONNREFUSED is the answer to an earlier one and took nothing: it is counted,
 * and the send is tried again. */
static void send_one(int fd, struct datagram *datagram, struct leg *leg, int64_t *surfaced)
{
    for (int tries = 0; tries < PATIENCE_MS; tries++) {
        int error = 0;

        if (datagram_send_single(fd, datagram, 1, &error) == 1) {
            leg->sent++;
            return;
        }
        if (error == ECONNREFUSED)
            ++*surfaced;
        else if (error == EAGAIN || error == ENOBUFS)
            poll(NULL, 0, 1);
        else if (error != EINTR) {
            ledger_refuse(leg, error);
            return;
        }
    }
    ledger_refuse(leg, EAGAIN);
}

/* The error of the last datagram waits in the socket. */
static bool last_error_waits(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    socklen_t length = sizeof(int);
    int error = 0;

    if (poll(&ready, 1, LAST_MS) <= 0)
        return false;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == ECONNREFUSED;
}

/* Reads the counters until all that was sent is among them, or waiting has shown that it is not. */
static enum status read_after(const struct counters *before, enum family family, int64_t sent,
                              struct counters *out_after, struct fault *fault)
{
    enum status status;

    for (int waited = 0;; waited++) {
        status = system_counters(out_after, fault);
        if (status != STATUS_OK || waited == PATIENCE_MS / 10 ||
            system_count_between(before, out_after, UDP_NO_SOCKET, family) >= sent)
            return status;
        poll(NULL, 0, 10);
    }
}

static enum status measure(int fd, enum family family, int64_t sends,
                           struct closed_port_result *result, struct fault *fault)
{
    uint8_t bytes[PAYLOAD] = { 0 };
    struct datagram datagram = { .part = { { bytes, sizeof bytes } }, .parts = 1 };
    struct counters before, after;
    struct leg leg = { 0 };
    int64_t surfaced = 0;
    enum status status = system_counters(&before, fault);

    if (status != STATUS_OK)
        return status;
    for (int64_t i = 0; i < sends; i++)
        send_one(fd, &datagram, &leg, &surfaced);
    if (last_error_waits(fd))
        surfaced++;
    status = read_after(&before, family, leg.sent, &after, fault);
    if (status != STATUS_OK)
        return status;
    result->sent = leg.sent;
    result->refused = leg.refused;
    result->refused.econnrefused = surfaced;
    result->no_socket.system = system_count_between(&before, &after, UDP_NO_SOCKET, family);
    result->receive_buffer.system =
        system_count_between(&before, &after, UDP_RECEIVE_BUFFER_FULL, family);
    return STATUS_OK;
}

enum status closed_port_measure(enum family family, int64_t sends,
                                struct closed_port_result *out_result, struct fault *fault)
{
    struct closed_port_result result = { 0 };
    int fd;
    enum status status = open_towards_nobody(family, &fd, fault);

    if (status != STATUS_OK)
        return status;
    status = measure(fd, family, sends, &result, fault);
    close(fd);
    if (status == STATUS_OK)
        *out_result = result;
    return status;
}
