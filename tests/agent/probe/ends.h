/* Both ends of a case in one process, the echo's on a thread of its own, and one account of both
 * halves. */
#ifndef SONDE_TEST_PROBE_ENDS_H
#define SONDE_TEST_PROBE_ENDS_H

#include <pthread.h>

#include "agent/host/wakeup.h"
#include "agent/probe/end.h"

struct ends {
    struct end_order order;
    struct echo_end *echo;
    struct sender_end *sender;
    struct addr target;
    pthread_t thread; /* the echo's */
    struct wakeup told;
    atomic_bool finish;
    enum phase_kind kind;
    enum status echo_status;
    struct half_phase sent, echoed; /* of the last phase */
    struct leg forward, reverse;    /* both halves of it, settled */
};

/* One client with a window of 4, closed loop, 50 ms; everything may be changed. */
struct end_order ends_order(int64_t payload);

/* An echo's end on `bind_to` ("127.0.0.1:0") alone. */
struct ends *ends_echo(const struct end_order *order, const char *bind_to);

/* And a sender's end towards `target` with the echo's port; they have agreed. */
struct ends *ends_meet(const struct end_order *order, const char *bind_to, const char *target);

/* Has a new sender's end agree with the echo's. */
void ends_agree(struct ends *ends);

/* The echo's end waits for hellos, or echoes a phase, until ends_still. ends_echo_phase returns
 * when it is ready. */
void ends_greet(struct ends *ends);
void ends_echo_phase(struct ends *ends, enum phase_kind kind);
void ends_still(struct ends *ends);

/* A whole phase of both; must be STATUS_OK at both ends, and add up. */
void ends_phase(struct ends *ends, enum phase_kind kind);

/* Settles ends->sent and ends->echoed into the legs, and checks every sum. */
void ends_settle(struct ends *ends);

void ends_free(struct ends *ends);

/* Everything but attempts, sends and arrivals in any order. */
int64_t ends_oddities(const struct leg *leg);

extern const struct phase_watch ends_nobody;

#endif
