/* A whole run on this machine: its facts, the idle interval, every case of the plan, and the
 * counters around all of it. A plan goes in, a record comes out.
 */
#ifndef SONDE_PROBE_RUN_H
#define SONDE_PROBE_RUN_H

#include "agent/probe/phase.h"
#include "proto/wire/run.h"

/* How the owner looks in. All may be NULL. */
struct run_watch {
    void *context;
    /* The idle interval or a case begins (`index` is its place in the plan, SIZE_MAX: idle). */
    void (*begin)(void *context, size_t index, const struct case_params *params);
    void (*tick)(void *context); /* about every 100 ms */
    void (*end)(void *context, const struct case_result *result);
    const atomic_bool *finish; /* set: the running case is the last */
    const atomic_bool *stop;   /* set: end at once, without the running case */
};

/* Measures the plan (checked by plan_check) on loopback. *out_run is made fresh, without schema's
 * command, which is the caller's to fill; record_done frees it. A case that could not be measured
 * is in it with its error. Stopped early, the run has what was measured and `interrupted` is true.
 */
enum status run_loopback(const struct plan *plan, const struct run_watch *watch,
                         struct run *out_run, struct fault *fault) must_check;

/* How long it will take at most, in seconds: phases, drains, the idle interval. */
double run_seconds(const struct plan *plan);

/* The plan of seed A: 6 payloads x 3 windows x 3 repeats with this platform's best engine. The
 * caller's; record_done frees it. */
void run_default_plan(struct plan *out_plan);

#endif
