/* Owns what is the same on every system: hop limits, and a socket that asks for the path MTU. */
#include "agent/host/path_socket.h"

#include <netinet/in.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/host/socket_system.h"

enum { SYSTEM_HOPS = -1 };

enum status path_socket_set_hops(int fd, enum family family, int hops, struct fault *fault)
{
    int value = hops == 0 ? SYSTEM_HOPS : hops;
    int error = family == FAMILY_IPV6
                    ? socket_option_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, value)
                    : path_socket_system_ttl(fd, value);

    if (error != 0)
        return fault_errno(fault, error, "cannot set the hop limit to %d", hops);
    return STATUS_OK;
}

static struct addr any_of(enum family family)
{
    struct addr any = addr_loopback(family, 0);

    if (family == FAMILY_IPV4)
        any.socket.v4.sin_addr.s_addr = htonl(INADDR_ANY);
    else
        any.socket.v6.sin6_addr = in6addr_any;
    return any;
}

enum status path_socket_kernel_mtu(const struct addr *local, const struct addr *peer,
                                   int64_t *out_mtu)
{
    enum family family = addr_family(peer);
    struct addr bind_to = local->length > 0 ? *local : any_of(family);
    struct addr bound;
    enum status status;
    int fd;

    addr_set_port(&bind_to, 0);
    status = socket_open(&bind_to, &fd, &bound, NULL);
    if (status != STATUS_OK)
        return status;
    status = socket_connect(fd, peer, NULL);
    if (status == STATUS_OK)
        status = path_socket_system_mtu(fd, family, out_mtu);
    close(fd);
    return status;
}
