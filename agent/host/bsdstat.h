/* macOS kernel statistics as bytes: structs that sysctl returns, decoded by offset of the named
 * field. Pure, built and tested everywhere. xnu's layouts with their sources:
 * apple-oss-distributions/xnu and docs/counters.md.
 *
 * The length that the kernel really returned decides what is there: a field beyond it leaves its
 * counter NONE_INT, a longer struct of a newer system is read as far as it is known.
 */
#ifndef SONDE_HOST_BSDSTAT_H
#define SONDE_HOST_BSDSTAT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire/counters.h"

/* net.inet.udp.stats (struct udpstat, 32-bit fields): counts both families together; filled into
 * udp.*. Counters made of several fields are summed modulo 2^32, as the fields wrap. */
void bsdstat_udp(const uint8_t *bytes, size_t length, struct counters *counters);

/* net.inet.ip.stats (struct ipstat, 32-bit fields). */
void bsdstat_ip(const uint8_t *bytes, size_t length, struct counters *counters);

/* net.inet6.ip6.stats (struct ip6stat, 64-bit fields). A value above 2^63-1 becomes
 * PROCFS_TOO_LARGE (procfs.h). */
void bsdstat_ip6(const uint8_t *bytes, size_t length, struct counters *counters);

/* The routing sysctl's NET_RT_IFLIST2 dump: appends a struct interface_counters (procfs.h) for
 * every if_msghdr2 (at most LIMIT_INTERFACES); other messages are passed over. `name_of` gives the
 * name of an interface index or NULL (if_indextoname on a Mac). Stops at the first message that
 * does not fit. Returns how many messages could not be used: too short, without a name, cut off. */
size_t bsdstat_interfaces(const uint8_t *bytes, size_t length,
                          const char *(*name_of)(void *context, unsigned index), void *context,
                          struct list *interfaces);

/* Which counters are 32 bits wide on macOS and wrap. */
extern const bool bsdstat_width32[COUNTER_COUNT];

#endif
