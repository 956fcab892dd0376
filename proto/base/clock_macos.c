/* Owns the reading of macOS's monotonic clock: CLOCK_UPTIME_RAW, because CLOCK_MONOTONIC counts
 * whole microseconds there. Must not know what is measured. */
#include "proto/base/clock.h"

#include <time.h>

struct mono mono_now(void)
{
    return (struct mono){ .ns = (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW) };
}
