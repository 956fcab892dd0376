/* MTU arithmetic: header sizes and the two length fields that end a datagram. Knows no interface,
 * no route and no path: what a real path carries is measured, not computed.
 */
#include "proto/wire/budget.h"

#include "proto/wire/limits.h"

/* What 16 bits of length can say. IPv4's counts its own header, IPv6's only what follows its base
 * header (RFC 791 section 3.1, RFC 8200 section 3). */
enum { LENGTH_FIELD_MAX = 65535 };

/* Where the families differ. */
struct rules {
    const char *name;
    const char *extra_name;
    int64_t mtu_min, header, extra_max, extra_step;
};

static const struct rules rules_of[] = {
    [FAMILY_IPV4] = { "IPv4", "IPv4 options", MTU_MIN_IPV4, IPV4_HEADER_BYTES, IP_OPTIONS_MAX, 4 },
    [FAMILY_IPV6] = { "IPv6", "IPv6 extension headers", MTU_MIN_IPV6, IPV6_HEADER_BYTES,
                      EXTENSION_HEADERS_MAX, 8 },
};

enum status budget_check_extra(enum family family, int64_t extra_bytes, struct fault *fault)
{
    const struct rules *rules = &rules_of[family];

    if (extra_bytes >= 0 && extra_bytes <= rules->extra_max && extra_bytes % rules->extra_step == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE,
                     "%s of %lld bytes are not allowed: 0 to %lld in steps of %lld",
                     rules->extra_name, (long long)extra_bytes, (long long)rules->extra_max,
                     (long long)rules->extra_step);
}

/* What a packet of at most `packet` bytes holds behind its headers. */
static enum status payload_of(const struct rules *rules, int64_t packet, int64_t extra_bytes,
                              int64_t *out_payload, struct fault *fault)
{
    int64_t payload = packet - rules->header - extra_bytes - UDP_HEADER_BYTES;

    if (payload < 1)
        return fault_set(fault, STATUS_RANGE,
                         "no payload byte is left of %lld: %s takes %lld, %s %lld, UDP %d",
                         (long long)packet, rules->name, (long long)rules->header,
                         rules->extra_name, (long long)extra_bytes, UDP_HEADER_BYTES);
    *out_payload = payload;
    return STATUS_OK;
}

static int64_t largest_packet(enum family family)
{
    return family == FAMILY_IPV4 ? LENGTH_FIELD_MAX : IPV6_HEADER_BYTES + LENGTH_FIELD_MAX;
}

enum status budget_payload(enum family family, int64_t mtu, int64_t extra_bytes,
                           int64_t *out_payload, struct fault *fault)
{
    const struct rules *rules = &rules_of[family];
    int64_t largest = largest_packet(family);
    enum status status = budget_check_extra(family, extra_bytes, fault);

    if (status != STATUS_OK)
        return status;
    if (mtu < rules->mtu_min || mtu > LIMIT_MTU)
        return fault_set(fault, STATUS_RANGE, "an MTU of %lld is not allowed: %lld to %d with %s",
                         (long long)mtu, (long long)rules->mtu_min, LIMIT_MTU, rules->name);
    return payload_of(rules, mtu < largest ? mtu : largest, extra_bytes, out_payload, fault);
}

enum status budget_protocol_maximum(enum family family, int64_t extra_bytes, int64_t *out_payload,
                                    struct fault *fault)
{
    enum status status = budget_check_extra(family, extra_bytes, fault);

    if (status != STATUS_OK)
        return status;
    return payload_of(&rules_of[family], largest_packet(family), extra_bytes, out_payload, fault);
}
