/* Owns which sysctl has which counters on macOS, and why some are not there.
 * Knows no struct's layout: bsdstat.c has it.
 */
#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysctl.h>

#include "agent/host/bsdstat.h"
#include "agent/host/counters_system.h"
#include "agent/host/procfs.h"

/* bsdstat.c reads these by offset; where the SDK has the struct, it must agree. */
_Static_assert(RTM_IFINFO2 == 0x12, "if_msghdr2's type");
_Static_assert(offsetof(struct if_msghdr2, ifm_index) == 12, "ifm_index");
_Static_assert(offsetof(struct if_msghdr2, ifm_snd_drops) == 24, "ifm_snd_drops");
_Static_assert(offsetof(struct if_msghdr2, ifm_data.ifi_ipackets) == 56, "ifi_ipackets");
_Static_assert(offsetof(struct if_msghdr2, ifm_data.ifi_obytes) == 104, "ifi_obytes");
_Static_assert(offsetof(struct if_msghdr2, ifm_data.ifi_iqdrops) == 128, "ifi_iqdrops");

enum { STRUCT_SIZE = 16384, DUMP_ATTEMPTS = 5 };

typedef void decode(const uint8_t *bytes, size_t length, struct counters *counters);

/* The handlers copy as much of the struct as fits and return its length. */
static void read_struct(const char *name, decode *fill, enum counter first, enum counter last,
                        struct counter_snapshot *snapshot)
{
    uint8_t bytes[STRUCT_SIZE];
    size_t length = sizeof bytes;

    memset(bytes, 0, sizeof bytes);
    if (sysctlbyname(name, bytes, &length, NULL, 0) != 0) {
        counters_explain(snapshot, first, last, "sysctl %s: %s", name, strerror(errno));
        return;
    }
    fill(bytes, length, &snapshot->total);
    for (unsigned i = first; i <= (unsigned)last; i++) {
        if (snapshot->total.value[i] != PROCFS_TOO_LARGE)
            continue;
        snapshot->total.value[i] = NONE_INT;
        counters_explain(snapshot, (enum counter)i, (enum counter)i,
                         "its field in sysctl %s is above 2^63-1", name);
    }
    /* What no field of the struct counts has got its own reason before. */
    counters_explain(snapshot, first, last, "sysctl %s returned %zu bytes, too few for it", name,
                     length);
}

static const char *name_of(void *context, unsigned index)
{
    return if_indextoname(index, context);
}

/* The dump may grow between asking for its size and reading it: then again. */
static uint8_t *read_dump(size_t *out_length, int *out_error)
{
    int mib[] = { CTL_NET, PF_ROUTE, 0, 0, NET_RT_IFLIST2, 0 };
    uint8_t *bytes = NULL;

    for (int i = 0; i < DUMP_ATTEMPTS; i++) {
        size_t length = 0;

        if (sysctl(mib, 6, NULL, &length, NULL, 0) != 0)
            break;
        length += length / 2 + 1024;
        free(bytes);
        bytes = malloc(length);
        if (bytes == NULL)
            abort();
        if (sysctl(mib, 6, bytes, &length, NULL, 0) == 0) {
            *out_length = length;
            return bytes;
        }
        if (errno != ENOMEM)
            break;
    }
    *out_error = errno;
    free(bytes);
    return NULL;
}

static void read_interfaces(struct counter_snapshot *snapshot)
{
    char name[IF_NAMESIZE];
    size_t length = 0;
    int error = 0;
    uint8_t *bytes = read_dump(&length, &error);

    if (bytes == NULL) {
        counters_explain(snapshot, INTERFACE_RX_DROPPED, INTERFACE_TX_ERRORS,
                         "sysctl NET_RT_IFLIST2: %s", strerror(error));
        return;
    }
    (void)bsdstat_interfaces(bytes, length, name_of, name, &snapshot->interfaces);
    counters_sum_interfaces(snapshot, "sysctl NET_RT_IFLIST2");
    free(bytes);
}

static void explain_what_macos_lacks(struct counter_snapshot *snapshot)
{
    counters_explain(snapshot, UDP_SEND_BUFFER_FULL, UDP_SEND_BUFFER_FULL,
                     "struct udpstat has no such field");
    counters_explain(snapshot, UDP_MEMORY_ERRORS, UDP_MEMORY_ERRORS,
                     "struct udpstat has no such field");
    counters_explain(snapshot, UDP6_DELIVERED, UDP6_MEMORY_ERRORS,
                     "macOS counts both families together, in udp.*");
    counters_explain(snapshot, IP_DISCARDS_IN, IP_DISCARDS_IN, "struct ipstat has no such field");
    counters_explain(snapshot, IP6_DISCARDS_IN, IP6_DISCARDS_IN,
                     "struct ip6stat has no such field");
    counters_explain(snapshot, SOFTNET_DROPPED, SOFTNET_SQUEEZED,
                     "macOS has no per-CPU packet backlog");
    counters_explain(snapshot, QDISC_DROPPED, QDISC_DROPPED,
                     "macOS has no queueing disciplines; see interface.tx_dropped");
}

void counters_read_system(struct counter_snapshot *snapshot)
{
    explain_what_macos_lacks(snapshot);
    read_struct("net.inet.udp.stats", bsdstat_udp, UDP_DELIVERED, UDP_MEMORY_ERRORS, snapshot);
    read_struct("net.inet.ip.stats", bsdstat_ip, IP_FRAGMENTS_CREATED, IP_DISCARDS_OUT, snapshot);
    read_struct("net.inet6.ip6.stats", bsdstat_ip6, IP6_FRAGMENTS_CREATED, IP6_DISCARDS_OUT,
                snapshot);
    read_interfaces(snapshot);
}

const bool *counters_width32(void)
{
    return bsdstat_width32;
}
