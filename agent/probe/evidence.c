/* Owns how sockets of a case are sized, and how drops over a phase are told. Knows no role. */
#include "agent/probe/evidence.h"

#include <unistd.h>

#include "agent/host/counters.h"
#include "agent/host/socket.h"

enum status sized_socket_open(const struct addr *bind_to, const struct case_common *common,
                              struct sized_socket *out_socket, struct fault *fault)
{
    struct sized_socket made = { .fd = -1 };
    enum status status = socket_open(bind_to, &made.fd, &made.bound, fault);

    if (status != STATUS_OK)
        return status;
    status = socket_ask_buffer(made.fd, SOCKET_RCVBUF, common->rcvbuf, &made.rcvbuf, fault);
    if (status == STATUS_OK)
        status = socket_ask_buffer(made.fd, SOCKET_SNDBUF, common->sndbuf, &made.sndbuf, fault);
    if (status != STATUS_OK)
        close(made.fd);
    else
        *out_socket = made;
    return status;
}

enum status sized_socket_open_in(const struct addr *bind_to, struct port_range ports,
                                 const struct case_common *common, struct sized_socket *out_socket,
                                 struct fault *fault)
{
    struct addr wanted = *bind_to;
    char text[ADDR_TEXT_SIZE];

    for (uint32_t port = ports.first; port <= ports.last; port++) {
        enum status status;

        addr_set_port(&wanted, (uint16_t)port);
        status = sized_socket_open(&wanted, common, out_socket, fault);
        if (status != STATUS_EXISTS)
            return status;
    }
    addr_set_port(&wanted, ports.first);
    addr_format(&wanted, text);
    return fault_set(fault, STATUS_NO_RESOURCE, "no UDP port from %s to %u is free", text,
                     ports.last);
}

struct socket_evidence evidence_drops(const int *fds, size_t count)
{
    struct socket_evidence evidence = { .per_socket = true };

    for (size_t i = 0; i < count; i++) {
        uint32_t drops = 0;

        if (socket_drops(fds[i], &drops) != STATUS_OK)
            evidence.per_socket = false;
        evidence.drops += drops;
    }
    return evidence;
}

struct counters evidence_counters(const struct counters *before, const struct counters *after)
{
    struct counters delta;
    bool reset[COUNTER_COUNT];

    counters_subtract(before, after, counters_width32(), &delta, reset);
    return delta;
}

static int64_t or_zero(int64_t value)
{
    return value == NONE_INT ? 0 : value;
}

struct socket_evidence evidence_between(const struct socket_evidence *before,
                                        const struct socket_evidence *after,
                                        const struct counters *delta)
{
    struct socket_evidence evidence = { .per_socket = after->per_socket };

    /* The kernel's counts are 32 bits wide; so is the difference of their sums. */
    evidence.drops = after->per_socket ? (int64_t)(uint32_t)(after->drops - before->drops)
                                       : or_zero(delta->value[UDP_RECEIVE_BUFFER_FULL]) +
                                             or_zero(delta->value[UDP6_RECEIVE_BUFFER_FULL]);
    return evidence;
}
