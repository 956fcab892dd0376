/* Doing nothing for a while: what the machine's counters gain by themselves, and whose sockets drop
 * meanwhile. */
#ifndef SONDE_PROBE_IDLE_H
#define SONDE_PROBE_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "proto/wire/buffers.h"

/* How the owner looks in. All may be NULL. */
struct idle_watch {
    void *context;
    void (*tick)(void *context); /* about every 100 ms */
    const atomic_bool *finish;   /* either is set: what was heard so far is the result */
    const atomic_bool *stop;
};

/* True when either is set; NULL never is. */
bool idle_is_over(const atomic_bool *finish, const atomic_bool *stop);

/* Waits and fills out_idle with the counters' differences and how long it really was. */
enum status idle_listen(double seconds, const struct idle_watch *watch,
                        struct idle_result *out_idle, struct fault *fault) must_check;

/* As idle_listen, and with the sockets that dropped meanwhile, the largest first; no sockets where
 * the system does not tell. A socket that was closed meanwhile is not among them. out_idle, fresh
 * from record_init, is the caller's. */
enum status idle_measure(double seconds, const struct idle_watch *watch,
                         struct idle_result *out_idle, struct fault *fault) must_check;

/* Appends to `owners` (of struct drop_owner, without processes) each socket of `after` that dropped
 * since `before`, lists of struct proc_socket; the largest first. Pure. */
void idle_compare(const struct list *before, const struct list *after, struct list *owners);

#endif
