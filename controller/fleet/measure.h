/* One run between two hosts, case by case: a pure state machine. Events and `now` go in, messages
 * for the two agents come out through a table of functions.
 *
 *     OPEN_ECHO -> OPEN_SENDER -> [ BEGIN_ECHO -> SEND -> END_ECHO ] x phases -> CLOSE -> RESULTS
 *         -> next case, or OVER
 *
 * A case of a run of path MTU is a session, of one family. Which phases a case has, who sends in
 * each and for how long is work.h's to say; the states are the same for all. "The echo" of
 * BEGIN_ECHO and END_ECHO is the end that answers in the phase, which is `from` while `to` probes.
 *
 * OPEN_ECHO    open to `to`; waits for opened (its port) or refused.
 * OPEN_SENDER  open to `from` with the echo's address and port; it says hello there and answers
 *              opened once the echo role has agreed.
 * BEGIN_ECHO   begin to the end that answers; waits for begun.
 * SEND         begin to the end that sends; waits for ended. Progress, and changes that watching
 *              has noticed, come meanwhile.
 * END_ECHO     end to the end that answers; waits for ended.
 * CLOSE        close to both; waits for closed (or failed) of both.
 * RESULTS      waits until both reports are stored and joined (measure_joined); after an error or
 *              a stop, until those are stored that an end has said it has (measure_reported).
 * OVER         for good.
 *
 * Each state has a deadline: MEASURE_ANSWER_NS for an answer, MEASURE_AGREE_NS for the agreement,
 * the phase's length and drain and MEASURE_ANSWER_NS for SEND, MEASURE_RESULT_NS for RESULTS. When
 * it passes, or an end refuses, fails or is gone, the case is an error that says why, both ends are
 * told to close, and the run goes on with its next case, unless that error would come again
 * (an agent away; refused, where the next case is like this one, or every one was): then the run
 * has failed. An end that closes before it is told to has failed too. What comes later is joined
 * all the same.
 */
#ifndef SONDE_FLEET_MEASURE_H
#define SONDE_FLEET_MEASURE_H

#include "controller/fleet/work.h"
#include "proto/base/clock.h"

#define MEASURE_ANSWER_NS (10 * NS_PER_S)
#define MEASURE_AGREE_NS  (20 * NS_PER_S)
#define MEASURE_RESULT_NS (20 * NS_PER_S)

enum measure_state {
    MEASURE_OPEN_ECHO,
    MEASURE_OPEN_SENDER,
    MEASURE_BEGIN_ECHO,
    MEASURE_SEND,
    MEASURE_END_ECHO,
    MEASURE_CLOSE,
    MEASURE_RESULTS,
    MEASURE_OVER,
    MEASURE_STATE_COUNT
};

extern const char *const measure_state_names[];

/* The world. */
struct measure_port {
    void *context;
    /* To the agent with this role. False when it is away. */
    bool (*send)(void *context, enum end_role role, const void *message);
    void (*random)(void *context, void *out_bytes, size_t length);
    /* An unused run of four SSIDs: returns the first. */
    uint16_t (*ssid)(void *context);
    /* What the run is at, for whoever watches. */
    void (*progress)(void *context, const struct message_run_progress *progress);
    /* What the end that probes has noticed while it watches. */
    void (*moved)(void *context, const struct message_run_moved *moved);
    /* A case could not be measured: it is stored as an error unless reports of it come. Told at
     * once, or where one end's report alone says something (work_has_halves), once those have come
     * that are on their way. */
    void (*failed)(void *context, int64_t index, const char *reason);
    void (*over)(void *context, enum run_outcome outcome, const char *reason);
};

/* Where the echo role is asked, of each family that the work has: without a port. */
struct measure_addresses {
    char of[FAMILY_COUNT][ADDR_TEXT_SIZE];
};

/* What is asked for; copied. */
struct measure_order {
    char run[UUID_SIZE];
    struct measure_addresses addresses;
    const struct work *work;
};

struct measure;

struct measure *measure_new(const struct measure_order *order, const struct measure_port *port,
                            struct mono now, struct wall wall);
void measure_free(struct measure *measure);

/* Sends the first order. */
void measure_start(struct measure *measure, struct mono now);

/* A message of one of its agents (opened, refused, begun, progress, moved, ended, closed,
 * failed). What
 * belongs to another session, or is not expected in this state, changes nothing. */
void measure_message(struct measure *measure, enum end_role role, const union message *message,
                     struct mono now);

/* The agent with this role is gone, or is back (a session does not outlive its connection). */
void measure_away(struct measure *measure, enum end_role role, const char *reason, struct mono now);

/* Both reports of this case are stored, and joined. */
void measure_joined(struct measure *measure, int64_t index, struct mono now);

/* The report of this end is stored. */
void measure_reported(struct measure *measure, enum end_role role, int64_t index, struct mono now);

/* An operator's stop, or the controller's own end: both ends close, then the run is over. */
void measure_stop(struct measure *measure, const char *reason, struct mono now);

void measure_tick(struct measure *measure, struct mono now);
struct mono measure_deadline(const struct measure *measure);

enum measure_state measure_state(const struct measure *measure);
/* The session of the running case, "" between cases. */
const char *measure_session(const struct measure *measure);

#endif
