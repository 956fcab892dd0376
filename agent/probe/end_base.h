/* What the two ends of a case have in common: for sender_end.c and echo_end.c alone. */
#ifndef SONDE_PROBE_END_BASE_H
#define SONDE_PROBE_END_BASE_H

#include "agent/probe/end.h"
#include "agent/probe/evidence.h"

struct end_base {
    struct end_order order;
    const struct engine *engine;
    struct digest_key key;
    struct pattern pattern;
    struct session_ground ground;
    struct session session;  /* of the last phase */
    struct addr local, peer; /* in use; of length 0 while there are none */
    struct grant rcvbuf, sndbuf;
    struct clock_report clock; /* when the timebase was read */
    struct host host;
};

/* Checks the order and prepares what does not depend on the role but for the host's. Listens to the
 * idle machine, then samples the counters before the case. end_base_done also after a failure. */
enum status end_base_init(struct end_base *base, const struct end_order *order, enum host_role role,
                          struct fault *fault) must_check;
void end_base_done(struct end_base *base);

/* Makes base->session the phase's. */
void end_base_begin(struct end_base *base, enum phase_kind kind);

/* What is sampled right before and right after a phase. */
struct end_sample {
    struct socket_evidence sockets;
    struct counters counters;
};

enum status end_sample_take(const int *fds, size_t count, struct end_sample *out_sample,
                            struct fault *fault) must_check;

/* Fills the half's times, drops and counters, and makes it present. */
void end_half_fill(struct half_phase *half, const struct end_sample *before,
                   const struct end_sample *after, const struct phase_times *times);

/* The report's parts that both ends have. The host becomes the report's: once only. */
enum status end_base_report(struct end_base *base, struct report *report,
                            struct fault *fault) must_check;

#endif
