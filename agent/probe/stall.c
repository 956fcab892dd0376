/* Owns what counts as a stall of a thread. */
#include "agent/probe/stall.h"

#include <time.h>

/* The processor's clock is a system call; so often it is not felt. */
#define SAMPLE_NS (20 * NS_PER_MS)

int64_t stall_thread_ns(void)
{
    struct timespec time = { 0 };

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

void stall_init(struct stall *stall, int64_t (*processor_ns)(void), struct mono now)
{
    *stall = (struct stall){
        .processor_ns = processor_ns, .at = now, .sampled_at = now, .sampled_ns = processor_ns()
    };
}

static int64_t sample(struct stall *stall, struct mono now)
{
    int64_t run = stall->processor_ns();
    int64_t since = run - stall->sampled_ns;

    stall->sampled_ns = run;
    stall->sampled_at = now;
    return since;
}

void stall_skip(struct stall *stall, struct mono now)
{
    stall->at = now;
    (void)sample(stall, now);
}

int64_t stall_step(struct stall *stall, struct mono now, int64_t asked_ns)
{
    int64_t idle = mono_between(stall->at, now) - asked_ns;

    stall->at = now;
    if (idle < STALL_LEAST_NS && mono_between(stall->sampled_at, now) < SAMPLE_NS)
        return 0;
    idle -= sample(stall, now);
    if (idle < STALL_LEAST_NS)
        return 0;
    if (idle > stall->longest_ns)
        stall->longest_ns = idle;
    return idle;
}
