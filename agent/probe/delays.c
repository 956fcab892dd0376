/* Owns the summary of signed times. Knows no clock and no datagram. */
#include "agent/probe/delays.h"

#include <assert.h>

void delays_add(struct delays *delays, int64_t ns)
{
    if (delays->count++ == 0)
        delays->base = delays->min = delays->max = ns;
    if (ns < delays->min)
        delays->min = ns;
    if (ns > delays->max)
        delays->max = ns;
    delays->sum += (double)(ns - delays->base);
}

void delays_merge(struct delays *delays, const struct delays *more)
{
    if (more->count == 0)
        return;
    if (delays->count == 0) {
        *delays = *more;
        return;
    }
    if (more->min < delays->min)
        delays->min = more->min;
    if (more->max > delays->max)
        delays->max = more->max;
    delays->sum += more->sum + (double)more->count * (double)(more->base - delays->base);
    delays->count += more->count;
}

struct delay delays_summary(const struct delays *delays)
{
    struct delay delay = { .present = true, .min = delays->min, .max = delays->max };

    assert(delays->count > 0);
    delay.mean = delays->base + (int64_t)(delays->sum / (double)delays->count);
    /* A sum that was rounded must not put them out of order. */
    if (delay.mean < delay.min)
        delay.mean = delay.min;
    if (delay.mean > delay.max)
        delay.mean = delay.max;
    return delay;
}
