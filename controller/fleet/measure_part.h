/* Private to measure.c and measure_case.c: one run between two hosts. */
#ifndef SONDE_FLEET_MEASURE_PART_H
#define SONDE_FLEET_MEASURE_PART_H

#include "controller/fleet/measure.h"

struct measure {
    char run[UUID_SIZE];
    struct measure_addresses addresses;
    struct work work;
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
    bool failed;            /* for this reason: */
    char why[REASON_SIZE];
    bool told; /* the port has been told it */
    bool joined;
    struct work_phase phases[WORK_PHASES_MAX];
    size_t phase_count, phase_at; /* the one that runs, or is next */
    struct message_progress seen; /* of the phase, as the end that sends last said */
    int64_t moves;                /* that it told in the phase */

    /* the end */
    int64_t refused; /* cases */
    bool ending;     /* no case follows this one */
    enum run_outcome outcome;
    char reason[REASON_SIZE];
};

/* The ends' parts in the running phase. */
const struct work_phase *measure_phase(const struct measure *measure);
enum end_role measure_answerer(const struct measure *measure);

/* Enters a state and tells the watchers. */
void measure_enter(struct measure *measure, enum measure_state state, int64_t patience_ns,
                   struct mono now);
void measure_tell(struct measure *measure);

/* The steps of a case: each enters its state and sends what belongs to it. */
void measure_open(struct measure *measure, struct mono now);
void measure_open_sender(struct measure *measure, int64_t port, struct mono now);
void measure_begin_echo(struct measure *measure, size_t phase, struct mono now);
void measure_send(struct measure *measure, struct mono now);
void measure_end_echo(struct measure *measure, struct mono now);

/* Tells the ends that were asked to open and have not closed; an end that is away counts as closed.
 * What follows is the caller's to look at. */
void measure_close(struct measure *measure, const char *reason, struct mono now);

#endif
