/* Owns the order of a loop's timers. Must not know the clock. */
#include "proto/link/loop_heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"

enum { FIRST_CAPACITY = 16 };

static void place(struct loop_heap *heap, struct loop_timer *timer, size_t at)
{
    heap->timers[at] = timer;
    timer->place = at;
}

/* Moves the timer at `at` towards the top while it is earlier than what stands above it. */
static void rise(struct loop_heap *heap, size_t at)
{
    struct loop_timer *timer = heap->timers[at];

    for (; at > 1 && timer->at.ns < heap->timers[at / 2]->at.ns; at /= 2)
        place(heap, heap->timers[at / 2], at);
    place(heap, timer, at);
}

/* Moves the timer at `at` down while something below it is earlier. */
static void sink(struct loop_heap *heap, size_t at)
{
    struct loop_timer *timer = heap->timers[at];
    size_t below;

    while ((below = 2 * at) <= heap->count) {
        if (below < heap->count && heap->timers[below + 1]->at.ns < heap->timers[below]->at.ns)
            below++;
        if (timer->at.ns <= heap->timers[below]->at.ns)
            break;
        place(heap, heap->timers[below], at);
        at = below;
    }
    place(heap, timer, at);
}

static void grow(struct loop_heap *heap)
{
    size_t capacity = heap->capacity != 0 ? 2 * heap->capacity : FIRST_CAPACITY;
    struct loop_timer **timers = memory_new(capacity, sizeof(struct loop_timer *));

    if (heap->count != 0)
        memcpy(timers, heap->timers, (heap->count + 1) * sizeof(struct loop_timer *));
    free(heap->timers);
    heap->timers = timers;
    heap->capacity = capacity;
}

void loop_heap_done(struct loop_heap *heap)
{
    free(heap->timers);
    *heap = (struct loop_heap){ 0 };
}

void loop_heap_put(struct loop_heap *heap, struct loop_timer *timer)
{
    if (timer->place == 0) {
        if (heap->count + 1 >= heap->capacity)
            grow(heap);
        place(heap, timer, ++heap->count);
    }
    assert(heap->timers[timer->place] == timer);
    rise(heap, timer->place);
    sink(heap, timer->place);
}

void loop_heap_remove(struct loop_heap *heap, struct loop_timer *timer)
{
    size_t at = timer->place;
    struct loop_timer *last;

    if (at == 0)
        return;
    assert(heap->timers[at] == timer);
    last = heap->timers[heap->count--];
    timer->place = 0;
    if (last == timer)
        return;
    place(heap, last, at);
    rise(heap, at);
    sink(heap, last->place);
}

struct loop_timer *loop_heap_first(const struct loop_heap *heap)
{
    return heap->count != 0 ? heap->timers[1] : NULL;
}
