/* Owns the options of macOS for probing a path: IP_DONTFRAG, IPV6_USE_MIN_MTU, IPV6_PATHMTU. */
#include "agent/host/path_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "agent/host/socket_system.h"

int path_socket_system_ttl(int fd, int hops)
{
    enum { SYSTEM_TTL = 64 }; /* net.inet.ip.ttl; the option takes 0 to 255 only */

    return socket_option_set(fd, IPPROTO_IP, IP_TTL, hops < 0 ? SYSTEM_TTL : hops);
}

/* IPv4's route is asked through no socket. */
enum status path_socket_system_mtu(int fd, enum family family, int64_t *out_mtu)
{
    struct ip6_mtuinfo info;
    socklen_t length = sizeof info;

    if (family == FAMILY_IPV4)
        return STATUS_UNSUPPORTED;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_IPV6, IPV6_PATHMTU, &info, &length) != 0)
        return status_of_errno(errno);
    *out_mtu = info.ip6m_mtu;
    return STATUS_OK;
}

/* Fragments of IPv6 are then of 1280 bytes (RFC 3542 section 11.1): no other size can be asked. */
enum status path_socket_allow_fragments(int fd, enum family family, int64_t size,
                                        struct fault *fault)
{
    int error;

    (void)size;
    if (family == FAMILY_IPV4) {
        error = socket_option_set(fd, IPPROTO_IP, IP_DONTFRAG, 0);
    } else {
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 0);
        if (error == 0)
            error = socket_option_set(fd, IPPROTO_IPV6, IPV6_USE_MIN_MTU, 1);
    }
    return error == 0 ? STATUS_OK
                      : fault_errno(fault, error, "cannot allow fragments on an %s socket",
                                    family_name(family));
}
