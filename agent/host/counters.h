/* This host's kernel counters now, under our names. One file per system behind it. */
#ifndef SONDE_HOST_COUNTERS_H
#define SONDE_HOST_COUNTERS_H

#include "proto/wire/counters.h"

enum { COUNTER_REASON_SIZE = 160 };

struct counter_snapshot {
    struct counters total;
    /* Why a counter is NONE_INT, e.g. "/proc/net/snmp6: No such file or directory"; else "". */
    char reason[COUNTER_COUNT][COUNTER_REASON_SIZE];
    struct list cpus;       /* of struct softnet_cpu (procfs.h) */
    struct list interfaces; /* of struct interface_counters (procfs.h) */
    /* The network namespace they belong to ("net:[4026531840]"), "" where there is none. */
    char namespace[64];
    /* That of process 1, for a proc_root that is another host's view; "" when it cannot be told. */
    char init_namespace[64];
};

/* Reads every source; one that is missing makes its counters unavailable, never the whole fail.
 * `proc_root` stands for /proc (files are looked for in proc_root/self/net, then proc_root/net);
 * NULL is this host itself, including what is not in /proc (qdisc). On macOS too: then the tree is
 * a copy of a Linux host's. The snapshot is the caller's,
 * counter_snapshot_done frees it. STATUS_NOT_FOUND only when proc_root is not a folder. */
enum status counters_read(const char *proc_root, struct counter_snapshot *out_snapshot,
                          struct fault *fault) must_check;

void counter_snapshot_done(struct counter_snapshot *snapshot);

/* Which counters are 32 bits wide on this system; for counters_subtract. NULL when none is. */
const bool *counters_width32(void);

#endif
