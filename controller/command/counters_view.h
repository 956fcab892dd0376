/* A snapshot of kernel counters as `sonde counters` shows it: JSON and text. Pure. */
#ifndef SONDE_COMMAND_COUNTERS_VIEW_H
#define SONDE_COMMAND_COUNTERS_VIEW_H

#include "agent/host/counters.h"
#include "proto/base/buf.h"
#include "proto/base/clock.h"
#include "proto/wire/run.h"

#define COUNTERS_SCHEMA "sonde.counters/1"

/* What changed since the snapshot before. */
struct counters_interval {
    bool present;
    double seconds;
    struct counters delta;
    struct list reset; /* of char *: counters that went backwards */
};

struct counters_view {
    const struct host *host;
    const char *proc_root; /* as it was given, or NULL */
    struct wall taken;
    const struct counter_snapshot *snapshot;
    struct counters_interval interval;
};

/* Fills view->interval, which is the caller's (counters_interval_done). */
void counters_interval_init(struct counters_interval *interval, const struct counters *before,
                            const struct counters *after, const bool *width32, int64_t elapsed_ns);
void counters_interval_done(struct counters_interval *interval);

/* Appends one line of JSON (docs/counters.md). Interface values are unsigned 64-bit, exact. */
void counters_view_json(const struct counters_view *view, struct buf *out_text);

/* Appends the table for people: what there is by group, then why the rest is not there. */
void counters_view_text(const struct counters_view *view, struct buf *out_text);

/* Appends what changed in the interval, for people. */
void counters_view_changes(const struct counters_view *view, struct buf *out_text);

#endif
