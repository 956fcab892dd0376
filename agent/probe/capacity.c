/* Owns the arithmetic of receive buffers. */
#include "agent/probe/capacity.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* A charge may be a quotient of granted and held, rounded: it must lead back to what was held. */
static int64_t whole(int64_t granted, double charge)
{
    return (int64_t)floor((double)granted / charge * (1 + 4 * DBL_EPSILON));
}

enum status capacity_learn(int64_t granted, double charge, int64_t held,
                           struct capacity *out_capacity)
{
    int64_t extra;

    if (charge <= 0 || granted <= 0 || held < 1)
        return STATUS_CORRUPT;
    /* A single one is held whatever its size, so it teaches nothing of the rule. */
    extra = held == 1 && whole(granted, charge) == 0 ? 0 : held - whole(granted, charge);
    if (extra < 0 || extra > 1)
        return STATUS_CORRUPT;
    *out_capacity = (struct capacity){ .charge = charge, .extra = extra };
    return STATUS_OK;
}

int64_t capacity_of(const struct capacity *capacity, int64_t granted)
{
    int64_t fits = whole(granted, capacity->charge) + capacity->extra;

    return fits < 1 ? 1 : fits;
}

int64_t capacity_predict_lost(const struct capacity *capacity, int64_t granted, int64_t datagrams)
{
    int64_t fits = capacity_of(capacity, granted);

    return datagrams > fits ? datagrams - fits : 0;
}

int64_t capacity_needed(const struct capacity *capacity, int64_t datagrams)
{
    int64_t needed;

    assert(datagrams >= 0);
    if (capacity_of(capacity, 1) >= datagrams)
        return 1;
    needed = (int64_t)ceil((double)(datagrams - capacity->extra) * capacity->charge);
    /* The product may be rounded, too. */
    while (capacity_of(capacity, needed) < datagrams)
        needed++;
    while (needed > 1 && capacity_of(capacity, needed - 1) >= datagrams)
        needed--;
    return needed;
}
