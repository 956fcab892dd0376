/* Owns the arithmetic of receive buffers. */
#include "agent/probe/capacity.h"

#include <assert.h>
#include <math.h>

static int64_t whole(int64_t granted, double charge)
{
    return (int64_t)floor((double)granted / charge);
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
    int64_t counted = datagrams - capacity->extra;

    assert(datagrams >= 0);
    return counted < 1 ? 1 : (int64_t)ceil((double)counted * capacity->charge);
}
