/* Owns what this Linux host has beyond /proc: the queueing disciplines, asked by rtnetlink.
 * Knows no message's layout: qdisc.c has it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "agent/host/counters_system.h"
#include "agent/host/qdisc.h"

enum { REPLY_TIMEOUT_MS = 1000, REPLY_SIZE = 32768 };

/* Sends the request for a dump; 0 or an errno value. */
static int ask(int fd)
{
    struct {
        struct nlmsghdr head;
        struct tcmsg body;
    } request;
    struct sockaddr_nl kernel;

    memset(&request, 0, sizeof request);
    memset(&kernel, 0, sizeof kernel);
    kernel.nl_family = AF_NETLINK;
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = RTM_GETQDISC;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.tcm_family = AF_UNSPEC;
    if (sendto(fd, &request, sizeof request, 0, (const struct sockaddr *)&kernel, sizeof kernel) <
        0)
        return errno;
    return 0;
}

/* Reads one part of the dump; 0 or an errno value. */
static int read_part(int fd, struct qdisc_sum *sum)
{
    uint8_t bytes[REPLY_SIZE];
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    struct sockaddr_nl from;
    socklen_t from_length = sizeof from;
    ssize_t length;
    int ready = poll(&wait, 1, REPLY_TIMEOUT_MS);

    if (ready <= 0)
        return ready == 0 ? ETIMEDOUT : errno;
    memset(&from, 0, sizeof from);
    length = recvfrom(fd, bytes, sizeof bytes, MSG_TRUNC, (struct sockaddr *)&from, &from_length);
    if (length < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : errno;
    if ((size_t)length > sizeof bytes)
        return EMSGSIZE;
    if (from.nl_pid == 0) /* from the kernel, not from another process */
        qdisc_read(bytes, (size_t)length, sum);
    return 0;
}

/* The whole dump; 0 or an errno value. */
static int read_dump(int fd, struct qdisc_sum *sum)
{
    int error = ask(fd);

    while (error == 0 && !sum->done) {
        error = read_part(fd, sum);
        if (error == EINTR)
            error = 0;
    }
    return error != 0 ? error : sum->error;
}

static void read_qdiscs(struct counter_snapshot *snapshot)
{
    struct qdisc_sum sum = { 0 };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    int error = fd < 0 ? errno : read_dump(fd, &sum);

    if (fd >= 0)
        close(fd);
    if (error != 0)
        counters_explain(snapshot, QDISC_DROPPED, QDISC_DROPPED, "rtnetlink RTM_GETQDISC: %s",
                         strerror(error));
    else if (sum.skipped > 0)
        counters_explain(snapshot, QDISC_DROPPED, QDISC_DROPPED,
                         "rtnetlink RTM_GETQDISC: %zu messages without TCA_STATS_QUEUE",
                         sum.skipped);
    else
        counters_put(snapshot, QDISC_DROPPED, sum.drops, false, "the sum over all root qdiscs");
}

void counters_read_system(struct counter_snapshot *snapshot)
{
    counters_read_proc("/proc", snapshot);
    read_qdiscs(snapshot);
}

const bool *counters_width32(void)
{
    return NULL;
}
