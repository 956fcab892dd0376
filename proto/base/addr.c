/* Owns IPv4 and IPv6 endpoints, ranges of hosts, and their text. Must not open sockets, nor resolve
 * names. A v4-mapped IPv6 address counts as its IPv4 address in everything here. */
#include "proto/base/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"

const char *family_name(enum family family)
{
    return family == FAMILY_IPV4 ? "ipv4" : "ipv6";
}

static struct addr from_v4(struct in_addr host, in_port_t port)
{
    struct addr addr = { .length = sizeof addr.socket.v4 };

    addr.socket.v4.sin_family = AF_INET;
    addr.socket.v4.sin_addr = host;
    addr.socket.v4.sin_port = port;
    return addr;
}

static struct addr from_v6(struct in6_addr host, in_port_t port, uint32_t zone)
{
    struct addr addr = { .length = sizeof addr.socket.v6 };

    addr.socket.v6.sin6_family = AF_INET6;
    addr.socket.v6.sin6_addr = host;
    addr.socket.v6.sin6_port = port;
    addr.socket.v6.sin6_scope_id = zone;
    return addr;
}

/* The same endpoint without what does not tell endpoints apart: mapping, flow label. */
static struct addr plain(const struct addr *addr)
{
    const struct sockaddr_in6 *v6 = &addr->socket.v6;
    struct in_addr host;

    assert(addr->socket.any.sa_family == AF_INET || addr->socket.any.sa_family == AF_INET6);
    if (addr->socket.any.sa_family == AF_INET)
        return from_v4(addr->socket.v4.sin_addr, addr->socket.v4.sin_port);
    if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return from_v6(v6->sin6_addr, v6->sin6_port, v6->sin6_scope_id);
    memcpy(&host, &v6->sin6_addr.s6_addr[12], sizeof host);
    return from_v4(host, v6->sin6_port);
}

struct addr addr_loopback(enum family family, uint16_t port)
{
    if (family == FAMILY_IPV4)
        return from_v4((struct in_addr){ .s_addr = htonl(INADDR_LOOPBACK) }, htons(port));
    return from_v6(in6addr_loopback, htons(port), 0);
}

enum family addr_family(const struct addr *addr)
{
    struct addr same = plain(addr);

    return same.socket.any.sa_family == AF_INET ? FAMILY_IPV4 : FAMILY_IPV6;
}

uint16_t addr_port(const struct addr *addr)
{
    if (addr->socket.any.sa_family == AF_INET)
        return ntohs(addr->socket.v4.sin_port);
    return ntohs(addr->socket.v6.sin6_port);
}

void addr_set_port(struct addr *addr, uint16_t port)
{
    if (addr->socket.any.sa_family == AF_INET)
        addr->socket.v4.sin_port = htons(port);
    else
        addr->socket.v6.sin6_port = htons(port);
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    struct addr x = plain(a), y = plain(b);

    if (x.socket.any.sa_family != y.socket.any.sa_family || addr_port(&x) != addr_port(&y))
        return false;
    if (x.socket.any.sa_family == AF_INET)
        return x.socket.v4.sin_addr.s_addr == y.socket.v4.sin_addr.s_addr;
    return x.socket.v6.sin6_scope_id == y.socket.v6.sin6_scope_id &&
           IN6_ARE_ADDR_EQUAL(&x.socket.v6.sin6_addr, &y.socket.v6.sin6_addr);
}

/* The finalizer of MurmurHash3: every bit of the input moves about half of the output's. */
static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

uint64_t addr_hash(const struct addr *addr)
{
    struct addr same = plain(addr);
    uint64_t hash = mix((uint64_t)addr_port(&same) + 1);
    uint64_t words[2];

    if (same.socket.any.sa_family == AF_INET)
        return mix(hash ^ same.socket.v4.sin_addr.s_addr);
    memcpy(words, &same.socket.v6.sin6_addr, sizeof words);
    hash = mix(hash ^ words[0]);
    hash = mix(hash ^ words[1]);
    return mix(hash ^ same.socket.v6.sin6_scope_id);
}

static void format_host(const struct addr *addr, char out_text[ADDR_TEXT_SIZE])
{
    struct addr same = plain(addr);
    char host[INET6_ADDRSTRLEN] = "";
    char zone[IF_NAMESIZE] = "";
    uint32_t index;

    if (same.socket.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &same.socket.v4.sin_addr, out_text, ADDR_TEXT_SIZE);
        return;
    }
    inet_ntop(AF_INET6, &same.socket.v6.sin6_addr, host, sizeof host);
    index = same.socket.v6.sin6_scope_id;
    if (index != 0 && if_indextoname(index, zone) == NULL)
        snprintf(zone, sizeof zone, "%u", index);
    snprintf(out_text, ADDR_TEXT_SIZE, "%s%s%s", host, index != 0 ? "%" : "", zone);
}

void addr_format(const struct addr *addr, char out_text[ADDR_TEXT_SIZE])
{
    bool v4 = addr_family(addr) == FAMILY_IPV4;
    char host[ADDR_TEXT_SIZE];

    format_host(addr, host);
    snprintf(out_text, ADDR_TEXT_SIZE, v4 ? "%s:%u" : "[%s]:%u", host, addr_port(addr));
}

static enum status bad(struct fault *fault, const char *text, const char *why, const char *form)
{
    return fault_set(fault, STATUS_INVALID, "\"%s\": %s; as in %s", text, why, form);
}

static enum status parse_port(const char *text, uint16_t *out_port)
{
    uint64_t port;
    enum status status = text_to_u64(text, &port);

    if (status != STATUS_OK || port > UINT16_MAX)
        return STATUS_INVALID;
    *out_port = (uint16_t)port;
    return STATUS_OK;
}

static const char endpoint_form[] = "192.0.2.1:7862 or [2001:db8::1]:7862";
static const char host_form[] = "192.0.2.1 or 2001:db8::1";
static const char net_form[] = "10.0.0.0/8, fd00::/8 or 192.0.2.1";

/* `host` is an IPv6 address of this text, without brackets; the zone is cut off it. */
static const char *parse_v6(char *host, uint16_t port, struct addr *out_addr)
{
    char *percent = strchr(host, '%');
    struct in6_addr bytes;
    struct addr parsed;
    uint32_t zone = 0;

    if (percent != NULL)
        *percent = '\0';
    if (inet_pton(AF_INET6, host, &bytes) != 1)
        return "no IPv6 address";
    if (percent != NULL) {
        if (!IN6_IS_ADDR_LINKLOCAL(&bytes))
            return "a zone (%) is for link-local addresses only";
        zone = if_nametoindex(percent + 1);
        if (zone == 0)
            return "the zone names no interface of this host";
    }
    parsed = from_v6(bytes, htons(port), zone);
    *out_addr = plain(&parsed);
    return NULL;
}

/* What is wrong with an endpoint, or NULL. */
static const char *parse_endpoint(const char *text, struct addr *out_addr)
{
    const char *colon = strrchr(text, ':');
    char host[ADDR_TEXT_SIZE];
    struct in_addr bytes;
    size_t length;
    uint16_t port;

    if (colon == NULL || parse_port(colon + 1, &port) != STATUS_OK)
        return "no port from 0 to 65535 at the end";
    length = (size_t)(colon - text);
    if (length >= sizeof host)
        return "too long for an address";
    memcpy(host, text, length);
    host[length] = '\0';
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        return parse_v6(host + 1, port, out_addr);
    }
    if (inet_pton(AF_INET, host, &bytes) != 1)
        return "no IPv4 address, nor an IPv6 address in brackets";
    *out_addr = from_v4(bytes, htons(port));
    return NULL;
}

/* The same for a host without a port. */
static const char *parse_host(const char *text, struct addr *out_addr)
{
    char host[ADDR_TEXT_SIZE];
    struct in_addr bytes;

    if (!text_copy(host, sizeof host, text))
        return "too long for an address";
    if (strchr(host, ':') != NULL)
        return parse_v6(host, 0, out_addr);
    if (inet_pton(AF_INET, host, &bytes) != 1)
        return "no IPv4 or IPv6 address";
    *out_addr = from_v4(bytes, 0);
    return NULL;
}

enum status addr_parse(const char *text, struct addr *out_addr, struct fault *fault)
{
    const char *wrong = parse_endpoint(text, out_addr);

    return wrong == NULL ? STATUS_OK : bad(fault, text, wrong, endpoint_form);
}

enum status addr_parse_host(const char *text, struct addr *out_addr, struct fault *fault)
{
    const char *wrong = parse_host(text, out_addr);

    return wrong == NULL ? STATUS_OK : bad(fault, text, wrong, host_form);
}

/* The address in network order. */
static uint8_t *octets(struct addr *addr, unsigned *out_count)
{
    if (addr->socket.any.sa_family == AF_INET) {
        *out_count = sizeof addr->socket.v4.sin_addr;
        return (uint8_t *)&addr->socket.v4.sin_addr;
    }
    *out_count = sizeof addr->socket.v6.sin6_addr;
    return addr->socket.v6.sin6_addr.s6_addr;
}

/* Clears every bit behind the first `prefix`, port and zone. */
static struct addr first_of(const struct addr *addr, unsigned prefix)
{
    struct addr first = plain(addr);
    unsigned count;
    uint8_t *bytes = octets(&first, &count);

    addr_set_port(&first, 0);
    if (first.socket.any.sa_family == AF_INET6)
        first.socket.v6.sin6_scope_id = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned kept = prefix <= 8 * i ? 0 : prefix - 8 * i;

        if (kept < 8)
            bytes[i] &= (uint8_t)(0xff00 >> kept);
    }
    return first;
}

/* The prefix behind the '/' of a range whose host has been read. A mapped range is given in bits
 * of IPv6 and kept in those of IPv4. */
static const char *parse_prefix(const char *text, bool written_v6, const struct addr *host,
                                unsigned *out_prefix)
{
    bool v4 = addr_family(host) == FAMILY_IPV4;
    uint64_t shift = v4 && written_v6 ? 96 : 0, largest = v4 ? 32 : 128, prefix;

    if (text == NULL) {
        *out_prefix = (unsigned)largest;
        return NULL;
    }
    if (text_to_u64(text, &prefix) != STATUS_OK || prefix < shift || prefix > largest + shift)
        return shift > 0 ? "the prefix of a mapped IPv4 range is 96 to 128"
               : v4      ? "the prefix of an IPv4 range is 0 to 32"
                         : "the prefix of an IPv6 range is 0 to 128";
    *out_prefix = (unsigned)(prefix - shift);
    return NULL;
}

enum status addr_net_parse(const char *text, struct addr_net *out_net, struct fault *fault)
{
    const char *slash = strchr(text, '/'), *wrong;
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char host[ADDR_TEXT_SIZE], meant[ADDR_TEXT_SIZE];
    struct addr addr;
    struct addr_net net;

    if (length >= sizeof host)
        return bad(fault, text, "too long for an address", net_form);
    memcpy(host, text, length);
    host[length] = '\0';
    wrong = strchr(host, '%') != NULL ? "a range has no zone" : parse_host(host, &addr);
    if (wrong == NULL)
        wrong = parse_prefix(slash == NULL ? NULL : slash + 1, strchr(host, ':') != NULL, &addr,
                             &net.prefix);
    if (wrong != NULL)
        return bad(fault, text, wrong, net_form);
    net.first = first_of(&addr, net.prefix);
    if (!addr_equal(&net.first, &addr)) {
        format_host(&net.first, meant);
        return fault_set(fault, STATUS_INVALID,
                         "\"%s\": bits are set behind the prefix; %s/%u is the range around it",
                         text, meant, net.prefix);
    }
    *out_net = net;
    return STATUS_OK;
}

bool addr_net_contains(const struct addr_net *net, const struct addr *addr)
{
    struct addr first = first_of(addr, net->prefix);

    return addr_equal(&first, &net->first);
}
