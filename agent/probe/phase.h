/* One phase of a case: threads that serve both roles, or one of them with the other on another
 * host, until its time is over and what is outstanding has drained. */
#ifndef SONDE_PROBE_PHASE_H
#define SONDE_PROBE_PHASE_H

#include <stdatomic.h>

#include "agent/probe/echo.h"
#include "agent/probe/sender.h"
#include "proto/wire/case.h"

/* After the last send, how long echoes are waited for on loopback (measurement.md). */
#define PHASE_DRAIN_NS     (250 * NS_PER_MS)
#define PHASE_DRAIN_RTTS   4 /* between hosts, of the slowest seen, if that is longer */
#define PHASE_DRAIN_MAX_NS (30 * NS_PER_S) /* however slow the other host is */

/* How the owner of a phase looks in while it runs, from its own thread. */
struct phase_watch {
    void *context;
    void (*tick)(void *context);  /* about every 100 ms; may be NULL */
    void (*ready)(void *context); /* an echo's end: all threads look at the socket; may be NULL */
    const atomic_bool *stop;      /* set: end at once; may be NULL */
    const atomic_bool *finish;    /* an echo's end alone: set: the phase is over; may be NULL */
    int wake_fd;                  /* tick is called at once when it can be read; 0: none */
};

/* What a phase works on; all borrowed. sender i serves the clients i, i + threads, ... */
struct phase_roles {
    int echo_fd;
    struct echo_worker **echo_workers; /* NULL: the echo role is another host's */
    struct sender **senders;           /* NULL: the sender's role is */
    size_t threads;                    /* of each role */
    const int *client_fds;
    size_t clients;
};

/* Threads of each role: beyond the clients one would have nobody to serve. */
size_t phase_threads(const struct case_common *common);

/* Makes roles->senders over their clients, for datagrams of up to `payload` bytes; the caller's. */
void phase_make_senders(const struct phase_roles *roles, const struct engine *engine,
                        size_t payload);

struct phase_times {
    /* First send to the end of sending or the last echo, the later of both; of an echo role alone,
     * from when it looked to its end. */
    int64_t active_ns;
    struct pace pace; /* of an open loop */
    int64_t stall_ns; /* the longest time that a thread was not run (stall.h) */
};

/* What a phase is asked for; all borrowed. */
struct phase_order {
    const struct case_common *common;
    double seconds;   /* of sending */
    int64_t drain_ns; /* at least; without an echo role here, PHASE_DRAIN_RTTS if longer */
    const struct phase_watch *watch;
};

/* Runs one phase; the roles have begun its session. Senders end by themselves, an echo role alone
 * when watch->finish is set. STATUS_INTERRUPTED when it was stopped: then *out_times is of what
 * there was; STATUS_NO_RESOURCE when threads have run out. */
enum status phase_run(const struct phase_roles *roles, const struct phase_order *order,
                      struct phase_times *out_times, struct fault *fault) must_check;

#endif
