/* IPv4 and IPv6 endpoints. A v4-mapped IPv6 address is its IPv4 address everywhere. */
#ifndef SONDE_BASE_ADDR_H
#define SONDE_BASE_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/base/status.h"

enum family { FAMILY_IPV4, FAMILY_IPV6 };

enum { ADDR_TEXT_SIZE = 80 };

/* Bytes of IP and UDP header in front of a payload, without options or extension headers. */
enum { IPV4_HEADER_BYTES = 20, IPV6_HEADER_BYTES = 40, UDP_HEADER_BYTES = 8 };

struct addr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t length; /* of the member in use */
};

/* "ipv4" or "ipv6". */
const char *family_name(enum family family);

/* 127.0.0.1 or ::1 with `port` (host order). */
struct addr addr_loopback(enum family family, uint16_t port);

enum family addr_family(const struct addr *addr);
uint16_t addr_port(const struct addr *addr);
void addr_set_port(struct addr *addr, uint16_t port);
bool addr_equal(const struct addr *a, const struct addr *b);

/* A well-mixed hash of address, zone and port. */
uint64_t addr_hash(const struct addr *addr);

/* "127.0.0.1:7862", "[::1]:7862", "[fe80::1%eth0]:7862". */
void addr_format(const struct addr *addr, char out_text[ADDR_TEXT_SIZE]);

/* Reads what addr_format writes. A zone is allowed only on a link-local address and must name an
 * interface of this host. */
enum status addr_parse(const char *text, struct addr *out_addr, struct fault *fault) must_check;

/* As addr_parse, for a host alone: "192.0.2.1", "2001:db8::1", "fe80::1%eth0"; its port is 0. */
enum status addr_parse_host(const char *text, struct addr *out_addr,
                            struct fault *fault) must_check;

/* A range of hosts: those that share the first `prefix` bits with `first`. */
struct addr_net {
    struct addr first; /* port 0, no bit set behind the prefix */
    unsigned prefix;
};

/* Reads "10.0.0.0/8", "fd00::/8" or a host alone, without a zone. Bits behind the prefix are
 * refused, the range that was meant being named. */
enum status addr_net_parse(const char *text, struct addr_net *out_net,
                           struct fault *fault) must_check;

/* Whatever the port and the zone. "::/0" holds every IPv6 address and no IPv4 address. */
bool addr_net_contains(const struct addr_net *net, const struct addr *addr);

#endif
