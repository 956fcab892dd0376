/* Text of Linux's /proc/net, read by name, never by position. Pure: bytes in, values out.
 *
 * Built and tested on every system. Unknown names are ignored, known names that are missing leave
 * their counter as it was (NONE_INT), a malformed line is skipped and counted, and nothing in the
 * text can make a parser read out of bounds or fail as a whole.
 */
#ifndef SONDE_HOST_PROCFS_H
#define SONDE_HOST_PROCFS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire/counters.h"

/* What a counter becomes whose value in the text is above 2^63-1: no count, but not missing. */
#define PROCFS_TOO_LARGE (INT64_MIN + 1)

/* The field of a counter as people know it: "Udp: " and "InErrors" of snmp, "Ip6" and "FragOKs" of
 * snmp6. NULL for a counter of neither file. */
const char *procfs_field(enum counter counter, const char **out_prefix);

/* /proc/net/snmp: pairs of lines of one prefix, names then values ("Ip:", "Udp:"). Columns may be
 * more, fewer or in another order than today's. Returns the lines skipped as malformed. */
size_t procfs_snmp(const char *text, size_t length, struct counters *counters);

/* /proc/net/snmp6: one "name value" a line. */
size_t procfs_snmp6(const char *text, size_t length, struct counters *counters);

/* One CPU's line of /proc/net/softnet_stat. */
struct softnet_cpu {
    int64_t cpu; /* from the line where the kernel prints it, else the line's number */
    int64_t processed, dropped, squeezed;
};

/* /proc/net/softnet_stat, hexadecimal columns: appends to a list of struct softnet_cpu (at most
 * LIMIT_CPUS). */
size_t procfs_softnet(const char *text, size_t length, struct list *cpus);

/* One interface's line of /proc/net/dev. Values are unsigned 64-bit in the file; those above
 * 2^63-1 are kept as UINT64. */
struct interface_counters {
    char name[64];
    uint64_t rx_bytes, rx_packets, rx_errors, rx_dropped;
    uint64_t tx_bytes, tx_packets, tx_errors, tx_dropped;
};

/* /proc/net/dev, columns found by the two header lines' names; names and numbers need no blank
 * between them. Appends to a list of struct interface_counters (at most LIMIT_INTERFACES). */
size_t procfs_dev(const char *text, size_t length, struct list *interfaces);

/* One socket's line of /proc/net/udp or udp6. */
struct proc_socket {
    int64_t inode, uid, port, queued_bytes, drops;
};

/* /proc/net/udp and udp6, columns by the header's names. Appends to a list of struct proc_socket;
 * drops is NONE_INT where the kernel has no such column. */
size_t procfs_udp(const char *text, size_t length, struct list *sockets);

#endif
