/* Owns the reading of Linux's monotonic clock: CLOCK_MONOTONIC, the clock of its timers and polls.
 * Must not know what is measured. */
#include "proto/base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

struct mono mono_now(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);

    assert(failed == 0);
    return (struct mono){ .ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec };
}
