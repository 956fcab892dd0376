/* Owns the options of Linux for probing a path: IP_MTU, IPV6_MTU, IP_MTU_DISCOVER. */
#include "agent/host/path_socket.h"

#include <netinet/in.h>

#include "agent/host/socket_system.h"
#include "proto/wire/budget.h"

int path_socket_system_ttl(int fd, int hops)
{
    return socket_option_set(fd, IPPROTO_IP, IP_TTL, hops);
}

enum status path_socket_system_mtu(int fd, enum family family, int64_t *out_mtu)
{
    int mtu = 0;
    int error = family == FAMILY_IPV6 ? socket_option_get(fd, IPPROTO_IPV6, IPV6_MTU, &mtu)
                                      : socket_option_get(fd, IPPROTO_IP, IP_MTU, &mtu);

    if (error != 0)
        return status_of_errno(error);
    *out_mtu = mtu;
    return STATUS_OK;
}

/* IPV6_MTU bounds the fragments that this socket makes (net/ipv6/ip6_output.c, frag_size). */
enum status path_socket_allow_fragments(int fd, enum family family, int64_t size,
                                        struct fault *fault)
{
    int mtu = size < MTU_MIN_IPV6 ? MTU_MIN_IPV6 : (int)size;
    int error = socket_option_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);

    if (error == 0 && family == FAMILY_IPV6)
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
    if (error == 0 && family == FAMILY_IPV6)
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_MTU, mtu);
    return error == 0 ? STATUS_OK
                      : fault_errno(fault, error, "cannot allow fragments on an %s socket",
                                    family_name(family));
}
