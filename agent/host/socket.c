/* Owns what UDP sockets share on every system: opening, binding, connecting, control messages.
 * Knows no option that only one system has: those are in socket_linux.c and socket_macos.c.
 */
#include "agent/host/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket_system.h"

int socket_option_set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

int socket_option_get(int fd, int level, int option, int *out_value)
{
    int value = 0;
    socklen_t length = sizeof value;

    if (getsockopt(fd, level, option, &value, &length) != 0)
        return errno;
    if (length != sizeof value)
        return EINVAL;
    *out_value = value;
    return 0;
}

enum status socket_control(const struct msghdr *message, int level, int type, void *out_value,
                           size_t length)
{
    struct msghdr walk = *message;

    if ((message->msg_flags & MSG_CTRUNC) != 0)
        return STATUS_INVALID;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&walk); c != NULL; c = CMSG_NXTHDR(&walk, c)) {
        if (c->cmsg_level != level || c->cmsg_type != type)
            continue;
        if (c->cmsg_len != CMSG_LEN(length))
            return STATUS_INVALID;
        memcpy(out_value, CMSG_DATA(c), length);
        return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

static int bind_and_read_back(int fd, const struct addr *bind_to, struct addr *out_bound)
{
    struct addr bound;
    int error;

    memset(&bound, 0, sizeof bound);
    if (bind_to->socket.any.sa_family == AF_INET6) {
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        if (error != 0)
            return error;
    }
    if (bind(fd, &bind_to->socket.any, bind_to->length) != 0)
        return errno;
    bound.length = sizeof bound.socket;
    if (getsockname(fd, &bound.socket.any, &bound.length) != 0)
        return errno;
    *out_bound = bound;
    return 0;
}

enum status socket_open(const struct addr *bind_to, int *out_fd, struct addr *out_bound,
                        struct fault *fault)
{
    char text[ADDR_TEXT_SIZE];
    int error, fd;

    fd = socket_system_new(bind_to->socket.any.sa_family);
    if (fd < 0)
        return fault_errno(fault, errno, "cannot open an %s UDP socket",
                           bind_to->socket.any.sa_family == AF_INET6 ? "IPv6" : "IPv4");
    error = bind_and_read_back(fd, bind_to, out_bound);
    if (error != 0) {
        close(fd);
        addr_format(bind_to, text);
        return fault_errno(fault, error, "cannot bind a UDP socket to %s", text);
    }
    *out_fd = fd;
    return STATUS_OK;
}

enum status socket_connect(int fd, const struct addr *peer, struct fault *fault)
{
    char text[ADDR_TEXT_SIZE];

    if (connect(fd, &peer->socket.any, peer->length) == 0)
        return STATUS_OK;
    addr_format(peer, text);
    return fault_errno(fault, errno, "cannot connect a UDP socket to %s", text);
}
