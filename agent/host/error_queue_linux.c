/* Owns MSG_ERRQUEUE: struct sock_extended_err and who sent it. Knows nothing of what is quoted. */
#include "agent/host/error_queue.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>

#include "agent/host/socket_system.h"

enum { CONTROL_BYTES = 512 };

/* net/ipv4/ip_sockglue.c and net/ipv6/datagram.c: the offender stands right behind. */
struct extended4 {
    struct sock_extended_err error;
    struct sockaddr_in from;
};
struct extended6 {
    struct sock_extended_err error;
    struct sockaddr_in6 from;
};

union control {
    struct cmsghdr align;
    char bytes[CONTROL_BYTES];
};

enum status error_queue_enable(int fd, enum family family, struct fault *fault)
{
    int error = family == FAMILY_IPV6 ? socket_option_set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1)
                                      : socket_option_set(fd, IPPROTO_IP, IP_RECVERR, 1);

    return error == 0 ? STATUS_OK : fault_errno(fault, error, "cannot ask for ICMP errors");
}

static void take_kind(const struct sock_extended_err *error, struct queued_error *taken)
{
    taken->error = (int)error->ee_errno;
    taken->mtu = error->ee_info;
    if (error->ee_origin == SO_EE_ORIGIN_ICMP)
        taken->kind = error_kind_of(FAMILY_IPV4, error->ee_type, error->ee_code);
    else if (error->ee_origin == SO_EE_ORIGIN_ICMP6)
        taken->kind = error_kind_of(FAMILY_IPV6, error->ee_type, error->ee_code);
    else
        taken->kind = error->ee_origin == SO_EE_ORIGIN_LOCAL ? ERROR_LOCAL : ERROR_OTHER;
}

/* Of family AF_UNSPEC when there is nobody. */
static void take_addr(const void *address, socklen_t length, sa_family_t family, struct addr *addr)
{
    if (family != AF_INET && family != AF_INET6)
        return;
    memcpy(&addr->socket, address, length);
    addr->length = length;
}

static enum status take_control(const struct msghdr *message, struct queued_error *taken)
{
    struct extended4 v4;
    struct extended6 v6;

    if (socket_control(message, IPPROTO_IP, IP_RECVERR, &v4, sizeof v4) == STATUS_OK) {
        take_kind(&v4.error, taken);
        take_addr(&v4.from, sizeof v4.from, v4.from.sin_family, &taken->from);
        return STATUS_OK;
    }
    if (socket_control(message, IPPROTO_IPV6, IPV6_RECVERR, &v6, sizeof v6) == STATUS_OK) {
        take_kind(&v6.error, taken);
        take_addr(&v6.from, sizeof v6.from, v6.from.sin6_family, &taken->from);
        return STATUS_OK;
    }
    return STATUS_INVALID;
}

enum status error_queue_take(int fd, struct queued_error *out_error)
{
    struct queued_error taken = { .kind = ERROR_OTHER };
    union control control;
    struct iovec quote = { taken.quote, sizeof taken.quote };
    struct msghdr message = { .msg_name = &taken.to.socket,
                              .msg_namelen = sizeof taken.to.socket,
                              .msg_iov = &quote,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof control };
    ssize_t length = recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    enum status status;

    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? STATUS_AGAIN : status_of_errno(errno);
    status = take_control(&message, &taken);
    if (status != STATUS_OK)
        return status;
    taken.length = (size_t)length;
    taken.to.length = message.msg_namelen;
    if (taken.from.length > 0)
        addr_set_port(&taken.from, 0);
    *out_error = taken;
    return STATUS_OK;
}
