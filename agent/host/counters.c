/* Owns a snapshot's life, its reasons and its sums. Knows no file and no sysctl: those are in
 * counters_proc.c, counters_linux.c and counters_macos.c.
 */
#include "agent/host/counters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/host/counters_system.h"
#include "agent/host/procfs.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

static void snapshot_init(struct counter_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof *snapshot);
    counters_init(&snapshot->total);
}

void counter_snapshot_done(struct counter_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    free(snapshot->cpus.items);
    free(snapshot->interfaces.items);
    snapshot_init(snapshot);
}

void counters_explain(struct counter_snapshot *snapshot, enum counter first, enum counter last,
                      const char *format, ...)
{
    char text[COUNTER_REASON_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    utf8_mask(text); /* paths are words from outside, and may have been cut within a character */
    for (unsigned i = first; i <= (unsigned)last; i++) {
        if (snapshot->total.value[i] == NONE_INT && snapshot->reason[i][0] == '\0')
            memcpy(snapshot->reason[i], text, sizeof text);
    }
}

void counters_put(struct counter_snapshot *snapshot, enum counter counter, uint64_t sum,
                  bool overflowed, const char *what)
{
    if (overflowed || sum > (uint64_t)INT64_MAX)
        counters_explain(snapshot, counter, counter, "%s is above 2^63-1", what);
    else
        snapshot->total.value[counter] = (int64_t)sum;
}

void counters_sum_interfaces(struct counter_snapshot *snapshot, const char *source)
{
    static const struct {
        enum counter counter;
        size_t offset;
    } sums[] = {
        { INTERFACE_RX_DROPPED, offsetof(struct interface_counters, rx_dropped) },
        { INTERFACE_TX_DROPPED, offsetof(struct interface_counters, tx_dropped) },
        { INTERFACE_RX_ERRORS, offsetof(struct interface_counters, rx_errors) },
        { INTERFACE_TX_ERRORS, offsetof(struct interface_counters, tx_errors) },
    };
    const struct interface_counters *interfaces = snapshot->interfaces.items;

    if (snapshot->interfaces.count == 0) {
        counters_explain(snapshot, INTERFACE_RX_DROPPED, INTERFACE_TX_ERRORS,
                         "%s has no interface that can be read", source);
        return;
    }
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        uint64_t total = 0, value;
        bool overflowed = false;

        for (size_t j = 0; j < snapshot->interfaces.count; j++) {
            memcpy(&value, (const char *)&interfaces[j] + sums[i].offset, sizeof value);
            overflowed |= value > UINT64_MAX - total;
            total += value;
        }
        counters_put(snapshot, sums[i].counter, total, overflowed, "the sum over all interfaces");
    }
}

enum status counters_read(const char *proc_root, struct counter_snapshot *out_snapshot,
                          struct fault *fault)
{
    struct stat info;

    if (proc_root != NULL) {
        if (stat(proc_root, &info) != 0 || !S_ISDIR(info.st_mode))
            return fault_set(fault, STATUS_NOT_FOUND, "%s: not a folder", proc_root);
    }
    snapshot_init(out_snapshot);
    if (proc_root == NULL) {
        counters_read_system(out_snapshot);
    } else {
        counters_read_proc(proc_root, out_snapshot);
        counters_explain(out_snapshot, QDISC_DROPPED, QDISC_DROPPED, "not in /proc");
    }
    return STATUS_OK;
}
