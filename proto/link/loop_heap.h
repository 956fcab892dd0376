/* Timers of a loop, the earliest first: a binary heap of what the owners hold. Part of loop. */
#ifndef SONDE_LINK_LOOP_HEAP_H
#define SONDE_LINK_LOOP_HEAP_H

#include "proto/link/loop.h"

struct loop_heap {
    struct loop_timer **timers; /* timers[0] is not used: a place of 0 says "not set" */
    size_t count, capacity;
};

void loop_heap_done(struct loop_heap *heap);

/* Puts it in, or to its new place when it is in already and `at` has changed. */
void loop_heap_put(struct loop_heap *heap, struct loop_timer *timer);

/* Takes it out; one that is not in is fine. */
void loop_heap_remove(struct loop_heap *heap, struct loop_timer *timer);

/* The earliest, NULL when there is none. */
struct loop_timer *loop_heap_first(const struct loop_heap *heap);

#endif
