/* What is around the cases of a run, whatever its kind: its record, this host's facts, the idle
 * noise, the counters before and after. For the files that run plans. */
#ifndef SONDE_PROBE_RUN_FRAME_H
#define SONDE_PROBE_RUN_FRAME_H

#include "agent/probe/idle.h"
#include "proto/base/clock.h"
#include "proto/wire/run.h"

/* The moment of a run's start. The wall clock is read once: the end is that plus what passed. */
struct run_times {
    struct wall wall;
    struct mono mono;
};

/* Makes *out_run fresh, without its plan, and returns its one host, this machine, which stays the
 * run's. */
struct host *run_frame_start(struct run *out_run, enum run_kind kind, struct run_times *out_times);

/* Listens to the idle machine. */
enum status run_frame_idle(double seconds, const struct idle_watch *watch, struct host *host,
                           struct fault *fault) must_check;

/* Right before the first case, and right after the last: the counters, what is not available, and
 * whether the limits are still the same. */
enum status run_frame_open(struct host *host, struct fault *fault) must_check;
enum status run_frame_close(struct host *host, struct fault *fault) must_check;

/* A list of its own with the same elements, which are flat. */
struct list run_frame_copy(const struct list *list, size_t element_size);

void run_frame_finish(struct run *run, const struct run_times *times);

#endif
