/* How long a thread was not run: what passed beyond what it asked to sleep and what it spent on a
 * processor. Pure: the caller gives the times and the processor's clock. */
#ifndef SONDE_PROBE_STALL_H
#define SONDE_PROBE_STALL_H

#include "proto/base/clock.h"

#define STALL_LEAST_NS (100 * NS_PER_MS) /* below, it is the scheduler's daily work */

struct stall {
    int64_t (*processor_ns)(void); /* time that the calling thread was run, ever */
    struct mono at, sampled_at;
    int64_t sampled_ns;
    int64_t longest_ns; /* 0 while nothing was as long as STALL_LEAST_NS */
};

void stall_init(struct stall *stall, int64_t (*processor_ns)(void), struct mono now);

/* What passed until now is no stall, whatever it was. */
void stall_skip(struct stall *stall, struct mono now);

/* Since the last call the thread has asked to sleep for asked_ns in all and else had work. Returns
 * how long it was not run meanwhile, 0 when below STALL_LEAST_NS. Looks at the processor's clock
 * only now and then, so it may say up to 20 ms too little. */
int64_t stall_step(struct stall *stall, struct mono now, int64_t asked_ns);

/* The processor's clock of the calling thread. */
int64_t stall_thread_ns(void);

#endif
