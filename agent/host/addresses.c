/* Owns this host's own addresses and interfaces (getifaddrs, and one ioctl). */
#include "agent/host/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/host/socket_system.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

/* The address of an entry that is up and has an IPv4 or IPv6 address. */
static bool address_of(const struct ifaddrs *entry, struct addr *out_addr)
{
    const struct sockaddr *from = entry->ifa_addr;

    if (from == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
        (from->sa_family != AF_INET && from->sa_family != AF_INET6))
        return false;
    memset(out_addr, 0, sizeof *out_addr);
    out_addr->length =
        from->sa_family == AF_INET ? sizeof out_addr->socket.v4 : sizeof out_addr->socket.v6;
    memcpy(&out_addr->socket, from, out_addr->length);
    addr_set_port(out_addr, 0);
    return true;
}

static bool is_loopback(const struct addr *addr)
{
    if (addr->socket.any.sa_family == AF_INET)
        return ntohl(addr->socket.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&addr->socket.v6.sin6_addr);
}

/* Of use on one link alone, or for many hosts. */
static bool is_no_host(const struct addr *addr)
{
    if (addr->socket.any.sa_family == AF_INET) {
        uint32_t host = ntohl(addr->socket.v4.sin_addr.s_addr);

        return host == INADDR_ANY || IN_MULTICAST(host) || host >> 16 == 0xa9fe;
    }
    return IN6_IS_ADDR_UNSPECIFIED(&addr->socket.v6.sin6_addr) ||
           IN6_IS_ADDR_LINKLOCAL(&addr->socket.v6.sin6_addr) ||
           IN6_IS_ADDR_MULTICAST(&addr->socket.v6.sin6_addr);
}

/* An address whose duplicate detection goes on, or has failed, cannot be bound yet. */
static bool is_usable(const struct addr *addr)
{
    int fd = socket_system_new(addr->socket.any.sa_family);
    bool usable = fd >= 0 && bind(fd, &addr->socket.any, addr->length) == 0;

    if (fd >= 0)
        close(fd);
    return usable;
}

static void append(const struct addr *addr, struct list *addresses)
{
    const void *bytes = addr->socket.any.sa_family == AF_INET
                            ? (const void *)&addr->socket.v4.sin_addr
                            : (const void *)&addr->socket.v6.sin6_addr;
    char text[INET6_ADDRSTRLEN];

    if (addresses->count < LIMIT_ADDRESSES &&
        inet_ntop(addr->socket.any.sa_family, bytes, text, sizeof text) != NULL &&
        !words_have(addresses, text))
        words_add(addresses, text);
}

static void append_family(const struct ifaddrs *all, int family, bool loopback,
                          struct list *addresses)
{
    struct addr addr;

    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (address_of(i, &addr) && addr.socket.any.sa_family == family &&
            is_loopback(&addr) == loopback && !is_no_host(&addr) && is_usable(&addr))
            append(&addr, addresses);
    }
}

void addresses_list(struct list *out_addresses)
{
    struct ifaddrs *all = NULL;
    size_t before = out_addresses->count;

    if (getifaddrs(&all) != 0)
        return;
    for (int loopback = 0; loopback < 2 && out_addresses->count == before; loopback++) {
        append_family(all, AF_INET, loopback == 1, out_addresses);
        append_family(all, AF_INET6, loopback == 1, out_addresses);
    }
    freeifaddrs(all);
}

int64_t addresses_mtu(const char *interface)
{
    struct ifreq request;
    int fd, failed;

    memset(&request, 0, sizeof request);
    text_copy(request.ifr_name, sizeof request.ifr_name, interface);
    fd = socket_system_new(AF_INET);
    if (fd < 0)
        fd = socket_system_new(AF_INET6);
    if (fd < 0)
        return NONE_INT;
    failed = ioctl(fd, SIOCGIFMTU, &request);
    close(fd);
    return failed != 0 ? NONE_INT : request.ifr_mtu;
}

void addresses_interface(const struct addr *local, struct host_interface *out_interface)
{
    struct ifaddrs *all = NULL;
    struct addr wanted = *local;
    struct addr addr;

    *out_interface = (struct host_interface){ .name = "", .mtu = NONE_INT };
    addr_set_port(&wanted, 0);
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (!address_of(i, &addr) || !addr_equal(&addr, &wanted))
            continue;
        /* A name that is no text cannot stand in an archive. */
        if (utf8_is_valid(i->ifa_name, strlen(i->ifa_name)))
            text_copy(out_interface->name, sizeof out_interface->name, i->ifa_name);
        out_interface->mtu = addresses_mtu(i->ifa_name);
        break;
    }
    freeifaddrs(all);
}
