/* Between phase.c, which starts the threads of a phase, and phase_crew.c, which is what they do:
 * nobody else includes this. */
#ifndef SONDE_PROBE_PHASE_CREW_H
#define SONDE_PROBE_PHASE_CREW_H

#include <pthread.h>

#include "agent/host/poller.h"
#include "agent/host/wakeup.h"
#include "agent/probe/phase.h"
#include "agent/probe/stall.h"

/* What all threads of a phase share. */
struct crew {
    const struct phase_roles *roles;
    const struct phase_order *order;
    int64_t duration_ns;
    bool alert; /* there is a processor for each thread, so looking takes none from another */
    pthread_mutex_t lock; /* of the members below it */
    pthread_cond_t changed;
    size_t watching;        /* threads that serve the echo role alone and look at its socket */
    size_t arrived;         /* senders whose first burst is out */
    size_t running;         /* threads that serve a sender */
    bool failed;            /* a thread could not be started */
    struct mono first_sent; /* of all senders */
    struct mono deadline;   /* end of sending; set when the last burst is out */
    atomic_int_fast64_t outstanding, slowest_ns;
    struct wakeup done; /* the senders are, or the owner of an echo role alone says so */
};

/* One thread: a sender, an echo worker, or both. */
struct hand {
    struct crew *crew;
    pthread_t thread;
    struct poller *poller;
    struct sender *sender;      /* NULL: echo role only */
    struct echo_worker *worker; /* NULL: sender only */
    size_t first_client;
    int64_t published; /* its part of crew->outstanding */
    bool done;         /* crew->done was said: an echo worker may end */
    struct stall stall;
    int64_t waited_ns; /* what its roles had asked to sleep at the last step */
};

bool crew_stopped(const struct crew *crew);

/* Makes the hand's poller, which is the caller's to free also after a failure. */
enum status hand_watch(struct hand *hand, struct fault *fault) must_check;

/* A thread's function: does the hand's part of the phase. */
void *hand_run(void *hand);

#endif
