/* Owns one thread's waiting: what is watched, what is due, and whose turn it is. Each turn calls
 * every handler at most once, timers included, so that none of them starves another. Must not know
 * what the handlers do.
 */
#include "proto/link/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "proto/base/memory.h"
#include "proto/link/loop_heap.h"
#include "proto/link/loop_signal.h"

enum { FIRST_CAPACITY = 8 };

struct watch {
    loop_handler *handler; /* NULL: taken off, to be swept before the next turn */
    void *context;
};

struct signal_watch {
    struct loop *loop;
    int fd;
    loop_handler *handler;
    void *context;
};

struct loop {
    void *zmq;
    struct watch *watches;
    zmq_pollitem_t *items; /* beside watches */
    size_t count, capacity;
    struct loop_heap timers;
    bool calling;       /* timers, */
    struct mono called; /* those of this time and before */
    bool signals_caught;
    struct signal_watch signals[SIGNAL_COUNT];
    bool stopping;
    uint64_t turns, number;
    int64_t skipped_ns;
};

enum status loop_new(struct loop **out_loop, struct fault *fault)
{
    void *zmq = zmq_ctx_new();
    struct loop *loop;

    if (zmq == NULL)
        return fault_errno(fault, errno, "making a ZeroMQ context");
    /* What is closed with something unsent goes at once, unless its socket says otherwise. */
    zmq_ctx_set(zmq, ZMQ_BLOCKY, 0);
    loop = memory_new(1, sizeof *loop);
    loop->zmq = zmq;
    *out_loop = loop;
    return STATUS_OK;
}

static void sweep(struct loop *loop)
{
    size_t kept = 0;

    for (size_t i = 0; i < loop->count; i++) {
        if (loop->watches[i].handler == NULL)
            continue;
        loop->watches[kept] = loop->watches[i];
        loop->items[kept++] = loop->items[i];
    }
    loop->count = kept;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->signals_caught) {
        for (size_t i = 0; i < SIGNAL_COUNT; i++)
            loop_unwatch_fd(loop, loop->signals[i].fd);
        loop_signal_release();
    }
    sweep(loop);
    assert(loop->count == 0 && loop_heap_first(&loop->timers) == NULL);
    while (zmq_ctx_term(loop->zmq) != 0)
        assert(errno == EINTR);
    loop_heap_done(&loop->timers);
    free(loop->watches);
    free(loop->items);
    free(loop);
}

void *loop_zmq(struct loop *loop)
{
    return loop->zmq;
}

uint64_t loop_number(struct loop *loop)
{
    return ++loop->number;
}

struct mono loop_now(const struct loop *loop)
{
    return mono_after(mono_now(), loop->skipped_ns);
}

struct wall loop_wall(const struct loop *loop)
{
    return (struct wall){ wall_now().ns + loop->skipped_ns };
}

void loop_skip(struct loop *loop, int64_t ns)
{
    loop->skipped_ns += ns;
}

static void grow(struct loop *loop)
{
    size_t capacity = loop->capacity != 0 ? 2 * loop->capacity : FIRST_CAPACITY;
    struct watch *watches = memory_new(capacity, sizeof *watches);
    zmq_pollitem_t *items = memory_new(capacity, sizeof *items);

    if (loop->count != 0) {
        memcpy(watches, loop->watches, loop->count * sizeof *watches);
        memcpy(items, loop->items, loop->count * sizeof *items);
    }
    free(loop->watches);
    free(loop->items);
    loop->watches = watches;
    loop->items = items;
    loop->capacity = capacity;
}

/* Items that are added during a turn have no events before the next. */
static void add(struct loop *loop, zmq_pollitem_t item, struct watch watch)
{
    assert(watch.handler != NULL);
    if (loop->count == loop->capacity)
        grow(loop);
    loop->items[loop->count] = item;
    loop->watches[loop->count++] = watch;
}

static void take_off(struct loop *loop, void *zmq_socket, int fd)
{
    for (size_t i = 0; i < loop->count; i++) {
        const zmq_pollitem_t *item = &loop->items[i];

        if (loop->watches[i].handler == NULL || item->socket != zmq_socket)
            continue;
        if (zmq_socket != NULL || item->fd == fd)
            loop->watches[i].handler = NULL;
    }
}

void loop_watch_fd(struct loop *loop, int fd, loop_handler *handler, void *context)
{
    add(loop, (zmq_pollitem_t){ .fd = fd, .events = ZMQ_POLLIN },
        (struct watch){ handler, context });
}

void loop_unwatch_fd(struct loop *loop, int fd)
{
    take_off(loop, NULL, fd);
}

void loop_watch_socket(struct loop *loop, void *zmq_socket, loop_handler *handler, void *context)
{
    add(loop, (zmq_pollitem_t){ .socket = zmq_socket, .events = ZMQ_POLLIN },
        (struct watch){ handler, context });
}

void loop_unwatch_socket(struct loop *loop, void *zmq_socket)
{
    take_off(loop, zmq_socket, 0);
}

/* What a timer's handler sets is for the next turn at the earliest. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, struct mono at)
{
    if (loop->calling && at.ns <= loop->called.ns)
        at = mono_after(loop->called, 1);
    timer->at = at;
    loop_heap_put(&loop->timers, timer);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    loop_heap_remove(&loop->timers, timer);
}

static void on_signal(void *context, struct mono now)
{
    const struct signal_watch *signal = context;

    loop_signal_drain(signal->fd);
    signal->handler(signal->context, now);
}

enum status loop_catch_signals(struct loop *loop, loop_handler *stop, loop_handler *reload,
                               void *context, struct fault *fault)
{
    int fds[SIGNAL_COUNT];
    enum status status = loop_signal_catch(fds, fault);

    if (status != STATUS_OK)
        return status;
    loop->signals_caught = true;
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        loop->signals[i] = (struct signal_watch){ .loop = loop,
                                                  .fd = fds[i],
                                                  .handler = i == SIGNAL_STOP ? stop : reload,
                                                  .context = context };
        loop_watch_fd(loop, fds[i], on_signal, &loop->signals[i]);
    }
    return STATUS_OK;
}

/* How long to wait, in the milliseconds of zmq_poll: never too short, so that what is waited for
 * is due when it is over. -1: for ever. */
static long wait_ms(const struct loop *loop, int64_t max_wait_ns)
{
    const struct loop_timer *first = loop_heap_first(&loop->timers);
    int64_t wait_ns = max_wait_ns;
    int64_t ms;

    if (first != NULL) {
        int64_t until_first = mono_between(loop_now(loop), first->at);

        if (until_first < wait_ns)
            wait_ns = until_first;
    }
    if (wait_ns == INT64_MAX)
        return -1;
    if (wait_ns <= 0)
        return 0;
    ms = wait_ns / NS_PER_MS + (wait_ns % NS_PER_MS != 0);
    return ms > INT_MAX ? INT_MAX : (long)ms;
}

/* True when something that is watched has an event. */
static bool wait_for_events(struct loop *loop, long ms)
{
    int ready;

    if (loop->count == 0) /* zmq_poll would sleep by usleep, which has no "for ever" */
        ready = poll(NULL, 0, (int)ms);
    else
        ready = zmq_poll(loop->items, (int)loop->count, ms);
    assert(ready >= 0 || errno == EINTR);
    return ready > 0;
}

static void call_watches(struct loop *loop)
{
    size_t polled = loop->count;

    for (size_t i = 0; i < polled; i++) {
        struct watch watch = loop->watches[i];

        if (watch.handler != NULL && loop->items[i].revents != 0)
            watch.handler(watch.context, loop_now(loop));
    }
}

static void call_timers(struct loop *loop)
{
    struct loop_timer *timer;

    loop->calling = true;
    loop->called = loop_now(loop);
    while ((timer = loop_heap_first(&loop->timers)) != NULL && timer->at.ns <= loop->called.ns) {
        loop_heap_remove(&loop->timers, timer);
        timer->handler(timer->context, loop_now(loop));
    }
    loop->calling = false;
}

void loop_turn(struct loop *loop, int64_t max_wait_ns)
{
    sweep(loop);
    if (wait_for_events(loop, wait_ms(loop, max_wait_ns)))
        call_watches(loop);
    call_timers(loop);
    loop->turns++;
}

void loop_run(struct loop *loop)
{
    while (!loop->stopping)
        loop_turn(loop, INT64_MAX);
    loop->stopping = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

uint64_t loop_turns(const struct loop *loop)
{
    return loop->turns;
}

void loop_library(char out_text[LOOP_LIBRARY_SIZE])
{
    int major, minor, patch;

    zmq_version(&major, &minor, &patch);
    snprintf(out_text, LOOP_LIBRARY_SIZE, "%d.%d.%d", major, minor, patch);
}
