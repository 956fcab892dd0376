/* A whole run of buffer experiments on this machine: a plan goes in, a record comes out. */
#ifndef SONDE_PROBE_BUFFERS_H
#define SONDE_PROBE_BUFFERS_H

#include <stdatomic.h>

#include "proto/wire/run.h"

/* How long a run listens to the idle machine before the first case; an idle experiment's own
 * interval takes its place. */
#define BUFFERS_LISTEN_S 0.25

/* A case that begins. */
struct buffers_step {
    size_t index, count;
    const char *label; /* borrowed for this call */
    double at_most_s;
};

/* How the owner looks in. All may be NULL. */
struct buffers_watch {
    void *context;
    void (*begin)(void *context, const struct buffers_step *step);
    void (*tick)(void *context); /* now and then */
    void (*end)(void *context, const struct experiment_result *result);
    const atomic_bool *finish; /* set: the running case is the last */
    const atomic_bool *stop;   /* set: end at once, without the running case */
};

/* As run_loopback, for the experiments of a plan that buffers_plan_check accepts. An experiment
 * that fails is in the run with its error; the others go on. The process must have one thread. */
enum status run_buffers(const struct buffers_plan *plan, const struct buffers_watch *watch,
                        struct run *out_run, struct fault *fault) must_check;

/* How long a run of the plan takes at most, in seconds. */
double buffers_seconds(const struct buffers_plan *plan);

/* The plan of seed B. The caller's; record_done frees it. */
void run_default_buffers_plan(struct buffers_plan *out_plan);

#endif
