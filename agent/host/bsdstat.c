/* Owns the offsets of xnu's statistics structs (bsd/netinet/udp_var.h, ip_var.h,
 * bsd/netinet6/ip6_var.h, bsd/net/if.h, if_var.h). All Macs are little-endian.
 * Knows no sysctl: bytes in, counters out, on every system.
 */
#include "agent/host/bsdstat.h"

#include <string.h>

#include "agent/host/procfs.h"
#include "proto/wire/limits.h"

enum { TERMS = 7 };

/* A counter as a sum of fields; a negative offset takes the field away, NO_FIELD ends the sum.
 * No field that is taken away stands at offset 0. */
enum { NO_FIELD = INT32_MAX };
struct sum {
    enum counter counter;
    int offset[TERMS + 1];
};

enum { /* struct udpstat */
       UDPS_IPACKETS = 0,
       UDPS_HDROPS = 4,
       UDPS_BADSUM = 8,
       UDPS_BADLEN = 12,
       UDPS_NOPORT = 16,
       UDPS_NOPORTBCAST = 20,
       UDPS_FULLSOCK = 24,
       UDPS_OPACKETS = 36
};

static const struct sum udp_sums[] = {
    /* netstat(1), inet.c, udp_stats: "delivered" */
    { UDP_DELIVERED,
      { UDPS_IPACKETS, -UDPS_HDROPS, -UDPS_BADLEN, -UDPS_BADSUM, -UDPS_NOPORT, -UDPS_NOPORTBCAST,
        -UDPS_FULLSOCK, NO_FIELD } },
    { UDP_SENT, { UDPS_OPACKETS, NO_FIELD } },
    { UDP_NO_SOCKET, { UDPS_NOPORT, NO_FIELD } },
    { UDP_RECEIVE_BUFFER_FULL, { UDPS_FULLSOCK, NO_FIELD } },
    { UDP_CHECKSUM_ERRORS, { UDPS_BADSUM, NO_FIELD } },
    /* as Linux's InErrors: the full buffers are in it */
    { UDP_ERRORS, { UDPS_HDROPS, UDPS_BADSUM, UDPS_BADLEN, UDPS_FULLSOCK, NO_FIELD } },
};

enum { /* struct ipstat */
       IPS_FRAGDROPPED = 28,
       IPS_FRAGTIMEOUT = 32,
       IPS_ODROPPED = 64,
       IPS_REASSEMBLED = 68,
       IPS_FRAGMENTED = 72,
       IPS_OFRAGMENTS = 76,
       IPS_CANTFRAG = 80,
       IPS_NOROUTE = 88
};

static const struct sum ip_sums[] = {
    { IP_FRAGMENTS_CREATED, { IPS_OFRAGMENTS, NO_FIELD } },
    { IP_FRAGMENTED, { IPS_FRAGMENTED, NO_FIELD } },
    { IP_FRAGMENT_FAILURES, { IPS_CANTFRAG, NO_FIELD } },
    { IP_REASSEMBLED, { IPS_REASSEMBLED, NO_FIELD } },
    /* as Linux's ReasmFails: the timeouts are in it */
    { IP_REASSEMBLY_FAILURES, { IPS_FRAGDROPPED, IPS_FRAGTIMEOUT, NO_FIELD } },
    { IP_REASSEMBLY_TIMEOUTS, { IPS_FRAGTIMEOUT, NO_FIELD } },
    { IP_NO_ROUTE, { IPS_NOROUTE, NO_FIELD } },
    { IP_DISCARDS_OUT, { IPS_ODROPPED, NO_FIELD } },
};

enum { /* struct ip6stat */
       IP6S_FRAGDROPPED = 32,
       IP6S_FRAGTIMEOUT = 40,
       IP6S_FRAGOVERFLOW = 48,
       IP6S_ODROPPED = 96,
       IP6S_REASSEMBLED = 104,
       IP6S_FRAGMENTED = 120,
       IP6S_OFRAGMENTS = 128,
       IP6S_CANTFRAG = 136,
       IP6S_NOROUTE = 152
};

static const struct sum ip6_sums[] = {
    { IP6_FRAGMENTS_CREATED, { IP6S_OFRAGMENTS, NO_FIELD } },
    { IP6_FRAGMENTED, { IP6S_FRAGMENTED, NO_FIELD } },
    { IP6_FRAGMENT_FAILURES, { IP6S_CANTFRAG, NO_FIELD } },
    { IP6_REASSEMBLED, { IP6S_REASSEMBLED, NO_FIELD } },
    { IP6_REASSEMBLY_FAILURES,
      { IP6S_FRAGDROPPED, IP6S_FRAGTIMEOUT, IP6S_FRAGOVERFLOW, NO_FIELD } },
    { IP6_REASSEMBLY_TIMEOUTS, { IP6S_FRAGTIMEOUT, NO_FIELD } },
    { IP6_NO_ROUTE, { IP6S_NOROUTE, NO_FIELD } },
    { IP6_DISCARDS_OUT, { IP6S_ODROPPED, NO_FIELD } },
};

const bool bsdstat_width32[COUNTER_COUNT] = {
    [UDP_DELIVERED] = true,
    [UDP_SENT] = true,
    [UDP_NO_SOCKET] = true,
    [UDP_RECEIVE_BUFFER_FULL] = true,
    [UDP_CHECKSUM_ERRORS] = true,
    [UDP_ERRORS] = true,
    [IP_FRAGMENTS_CREATED] = true,
    [IP_FRAGMENTED] = true,
    [IP_FRAGMENT_FAILURES] = true,
    [IP_REASSEMBLED] = true,
    [IP_REASSEMBLY_FAILURES] = true,
    [IP_REASSEMBLY_TIMEOUTS] = true,
    [IP_NO_ROUTE] = true,
    [IP_DISCARDS_OUT] = true,
};

static uint64_t little_endian(const uint8_t *bytes, size_t width)
{
    uint64_t value = 0;

    for (size_t i = width; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

/* The sum modulo 2^64; false when the bytes end before one of its fields does. */
static bool add_up(const struct sum *sum, const uint8_t *bytes, size_t length, size_t width,
                   uint64_t *out_total)
{
    uint64_t total = 0;

    for (size_t i = 0; sum->offset[i] != NO_FIELD; i++) {
        bool away = sum->offset[i] < 0;
        size_t offset = (size_t)(away ? -sum->offset[i] : sum->offset[i]);
        uint64_t value;

        if (offset + width > length)
            return false;
        value = little_endian(bytes + offset, width);
        total = away ? total - value : total + value;
    }
    *out_total = total;
    return true;
}

static void fill32(const struct sum *sums, size_t count, const uint8_t *bytes, size_t length,
                   struct counters *counters)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t total;

        if (add_up(&sums[i], bytes, length, sizeof(uint32_t), &total))
            counters->value[sums[i].counter] = (int64_t)(total & UINT32_MAX);
    }
}

void bsdstat_udp(const uint8_t *bytes, size_t length, struct counters *counters)
{
    fill32(udp_sums, sizeof udp_sums / sizeof udp_sums[0], bytes, length, counters);
}

void bsdstat_ip(const uint8_t *bytes, size_t length, struct counters *counters)
{
    fill32(ip_sums, sizeof ip_sums / sizeof ip_sums[0], bytes, length, counters);
}

void bsdstat_ip6(const uint8_t *bytes, size_t length, struct counters *counters)
{
    for (size_t i = 0; i < sizeof ip6_sums / sizeof ip6_sums[0]; i++) {
        uint64_t total;

        if (add_up(&ip6_sums[i], bytes, length, sizeof(uint64_t), &total))
            counters->value[ip6_sums[i].counter] =
                total > (uint64_t)INT64_MAX ? PROCFS_TOO_LARGE : (int64_t)total;
    }
}

/* struct if_msghdr2 with its struct if_data64, and what every routing message begins with. */
enum {
    MESSAGE_LENGTH = 0,
    MESSAGE_TYPE = 3,
    MESSAGE_HEAD = 4,
    RTM_IFINFO2_TYPE = 0x12,
    IFM_INDEX = 12,
    IFM_SND_DROPS = 24,
    IFI_IPACKETS = 56,
    IFI_IERRORS = 64,
    IFI_OPACKETS = 72,
    IFI_OERRORS = 80,
    IFI_IBYTES = 96,
    IFI_OBYTES = 104,
    IFI_IQDROPS = 128,
    IFM_NEEDED = IFI_IQDROPS + 8
};

static void fill_interface(const uint8_t *message, const char *name,
                           struct interface_counters *out_interface)
{
    size_t length = strlen(name);

    memset(out_interface, 0, sizeof *out_interface);
    if (length >= sizeof out_interface->name)
        length = sizeof out_interface->name - 1;
    memcpy(out_interface->name, name, length);
    out_interface->rx_bytes = little_endian(message + IFI_IBYTES, 8);
    out_interface->rx_packets = little_endian(message + IFI_IPACKETS, 8);
    out_interface->rx_errors = little_endian(message + IFI_IERRORS, 8);
    out_interface->rx_dropped = little_endian(message + IFI_IQDROPS, 8);
    out_interface->tx_bytes = little_endian(message + IFI_OBYTES, 8);
    out_interface->tx_packets = little_endian(message + IFI_OPACKETS, 8);
    out_interface->tx_errors = little_endian(message + IFI_OERRORS, 8);
    out_interface->tx_dropped = little_endian(message + IFM_SND_DROPS, 4);
}

size_t bsdstat_interfaces(const uint8_t *bytes, size_t length,
                          const char *(*name_of)(void *context, unsigned index), void *context,
                          struct list *interfaces)
{
    size_t skipped = 0, at = 0;

    while (length - at >= MESSAGE_HEAD) {
        const uint8_t *message = bytes + at;
        size_t size = (size_t)little_endian(message + MESSAGE_LENGTH, 2);
        const char *name = NULL;

        if (size < MESSAGE_HEAD || size > length - at)
            break;
        at += size;
        if (message[MESSAGE_TYPE] != RTM_IFINFO2_TYPE)
            continue;
        if (size >= IFM_NEEDED && interfaces->count < LIMIT_INTERFACES)
            name = name_of(context, (unsigned)little_endian(message + IFM_INDEX, 2));
        if (name == NULL) {
            skipped++;
            continue;
        }
        fill_interface(message, name,
                       list_append_sized(interfaces, sizeof(struct interface_counters)));
    }
    return skipped + (at < length);
}
