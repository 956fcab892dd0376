/* Private to measure.c and measure_case.c: one run between two hosts. */
#ifndef SONDE_FLEET_MEASURE_PART_H
#define SONDE_FLEET_MEASURE_PART_H

#include "controller/fleet/measure.h"

struct measure {
    char run[UUID_SIZE];
    char address[ADDR_TEXT_SIZE];
    struct plan plan;
    struct measure_port port;
    int64_t wall_ahead_ns; /* of the monotonic clock, for ids */
    enum measure_state state;
    struct mono deadline;
    int64_t patience_ns; /* of the state: what the deadline was made from */

    /* the case */
    int64_t index, count;
    char session[UUID_SIZE];
    uint8_t key[SESSION_KEY_SIZE];
    uint16_t ssid;
    char target[ADDR_TEXT_SIZE];
    bool asked[END_COUNT];  /* open was sent to it */
    bool closed[END_COUNT]; /* nothing of the session is left there */
    bool due[END_COUNT];    /* its report is on its way */
    bool came[END_COUNT];   /* its report is stored */
    bool failed;            /* and the port has been told why */
    bool joined;
    enum phase_kind phase;
    double elapsed_s; /* as the sender's end last said */
    int64_t sent, received;

    /* the end */
    bool ending; /* no case follows this one */
    enum run_outcome outcome;
    char reason[REASON_SIZE];
};

/* Enters a state and tells the watchers. */
void measure_enter(struct measure *measure, enum measure_state state, int64_t patience_ns,
                   struct mono now);
void measure_tell(struct measure *measure);

/* The steps of a case: each enters its state and sends what belongs to it. */
void measure_open(struct measure *measure, struct mono now);
void measure_open_sender(struct measure *measure, int64_t port, struct mono now);
void measure_begin_echo(struct measure *measure, enum phase_kind phase, struct mono now);
void measure_send(struct measure *measure, struct mono now);
void measure_end_echo(struct measure *measure, struct mono now);

/* Tells the ends that were asked to open and have not closed; an end that is away counts as closed.
 * What follows is the caller's to look at. */
void measure_close(struct measure *measure, const char *reason, struct mono now);

#endif
