/* Facts about this machine and the limits that decide what UDP sockets may have. */
#ifndef SONDE_HOST_MACHINE_H
#define SONDE_HOST_MACHINE_H

#include "proto/wire/run.h"

/* Fills name, os, os_release, arch, cpu, cpus, memory_bytes, libraries, limits and `interface` (the
 * loopback interface's name and MTU) of a host record; the rest is left as record_init makes it.
 * What cannot be read is "" or absent. `out_host` must be fresh from record_init. */
void machine_describe(struct host *out_host);

/* Appends the limits to a map: Linux net.core.rmem_max, rmem_default, wmem_max, wmem_default,
 * netdev_max_backlog, net.ipv4.udp_mem.min/pressure/max (pages), udp_rmem_min, udp_wmem_min,
 * icmp_ratelimit, icmp_ratemask, icmp_msgs_per_sec; macOS net.inet.udp.maxdgram,
 * net.inet.udp.recvspace, kern.ipc.maxsockbuf, net.inet.icmp.icmplim. One that cannot be read is
 * null. */
void machine_limits(struct list *out_limits);

/* The name of the limit that caps SO_RCVBUF / SO_SNDBUF here and the value to set it to so that
 * `asked` bytes are granted. */
const char *machine_rcvbuf_limit(void);
const char *machine_sndbuf_limit(void);

/* How many descriptors this process may still open; raises the soft limit to the hard one. */
int64_t machine_descriptors_left(void);

/* Peak resident memory of this process in bytes. */
int64_t machine_peak_memory(void);

#endif
