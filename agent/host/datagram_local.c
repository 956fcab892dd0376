/* Owns this host's own address of a datagram as a control message: RFC 3542 for IPv6, IP_PKTINFO
 * for IPv4, the same on every system.
 */
#include <errno.h>
#include <string.h>

#include "agent/host/datagram_system.h"
#include "agent/host/socket_system.h"

enum status datagram_ask_local(int fd, enum family family, struct fault *fault)
{
    int error = family == FAMILY_IPV4 ? socket_option_set(fd, IPPROTO_IP, IP_PKTINFO, 1)
                                      : socket_option_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);

    return error == 0 ? STATUS_OK
                      : fault_errno(fault, error, "asking to which address datagrams come");
}

static void put(struct msghdr *header, int level, int type, const void *value, size_t length)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(header);

    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = (__typeof__(control->cmsg_len))CMSG_LEN(length);
    memcpy(CMSG_DATA(control), value, length);
    header->msg_controllen = (__typeof__(header->msg_controllen))CMSG_SPACE(length);
}

void datagram_local_put(const struct addr *local, struct msghdr *header)
{
    memset(header->msg_control, 0, (size_t)header->msg_controllen);
    if (local->socket.any.sa_family == AF_INET) {
        /* An interface would be taken instead of the address on macOS. */
        const struct in_pktinfo info = { .ipi_spec_dst = local->socket.v4.sin_addr };

        put(header, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    } else {
        const struct in6_pktinfo info = { .ipi6_addr = local->socket.v6.sin6_addr,
                                          .ipi6_ifindex = local->socket.v6.sin6_scope_id };

        put(header, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    }
}

void datagram_local_get(const struct msghdr *header, struct addr *out_local)
{
    struct in6_pktinfo v6;
    struct in_pktinfo v4;
    struct addr local;

    memset(&local, 0, sizeof local);
    if (socket_control(header, IPPROTO_IP, IP_PKTINFO, &v4, sizeof v4) == STATUS_OK) {
        /* Linux has the address to answer from here, for a broadcast too; macOS has nothing. */
        bool told = v4.ipi_spec_dst.s_addr != htonl(INADDR_ANY);

        local.length = sizeof local.socket.v4;
        local.socket.v4.sin_family = AF_INET;
        local.socket.v4.sin_addr = told ? v4.ipi_spec_dst : v4.ipi_addr;
    } else if (socket_control(header, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof v6) == STATUS_OK) {
        local.length = sizeof local.socket.v6;
        local.socket.v6.sin6_family = AF_INET6;
        local.socket.v6.sin6_addr = v6.ipi6_addr;
        /* Any other address is routed as the system likes. */
        if (IN6_IS_ADDR_LINKLOCAL(&v6.ipi6_addr))
            local.socket.v6.sin6_scope_id = (uint32_t)v6.ipi6_ifindex;
    }
    *out_local = local;
}
