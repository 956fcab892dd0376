/* One end of a session, whatever it measures: a table of functions for what task asks of it. Each
 * kind of work (task_end_case.c, task_end_mtu.c) has one. A part of task. */
#ifndef SONDE_AGENT_TASK_END_H
#define SONDE_AGENT_TASK_END_H

#include "agent/probe/end.h"
#include "agent/task.h"
#include "agent/task_report.h"

struct task_end;

struct task_end_kind {
    void (*free)(struct task_end *end);

    /* The echo role's; 0 at the sender's end. */
    uint16_t (*port)(const struct task_end *end);

    /* As end.h says; the echo's end agrees at once. */
    enum status (*agree)(struct task_end *end, const struct phase_watch *watch,
                         struct fault *fault);

    /* Outside of phases: answers hellos, or sleeps, until wake_fd can be read or the time is over.
     */
    void (*wait)(struct task_end *end, int wake_fd, int64_t timeout_ns);

    bool (*has_phase)(const struct task_end *end, enum phase_kind phase);

    /* Runs one, and keeps what came of it. STATUS_INTERRUPTED when watch->stop was set: then it
     * keeps what was known by then. */
    enum status (*phase)(struct task_end *end, enum phase_kind phase,
                         const struct phase_watch *watch, struct fault *fault);

    /* May the running phase go on when it has lasted so long? Not STATUS_OK: why not. */
    enum status (*lasts)(const struct task_end *end, enum phase_kind phase, double seconds,
                         struct fault *fault);

    /* What has been counted in the running phase; false at an end that answers. */
    bool (*progress)(const struct task_end *end, struct message_progress *progress);

    /* The session is over: gathers what is known of it and of this host. */
    enum status (*gather)(struct task_end *end, struct fault *fault);

    /* All of it as a result, which is the caller's (message_done); after `gather`, whatever that
     * returned. */
    enum status (*result)(struct task_end *end, const struct task_frame *frame,
                          struct message_result *out_result, struct fault *fault);
};

/* What an end stands on; borrowed for its life. */
struct task_ground {
    const struct message_open *open; /* admitted */
    const struct task_surroundings *surroundings;
    const atomic_bool *stop;                         /* set: an idle interval ends at once */
    void (*say)(void *context, const void *message); /* to the controller, from within a phase */
    void *context;
};

/* The beginning of each kind's own struct. */
struct task_end {
    const struct task_end_kind *kind;
    const struct task_ground *ground;
};

/* Opens the sockets, and listens to the idle interval before a case; nothing is sent. STATUS_RANGE
 * when that interval is too long. */
enum status task_end_new(const struct task_ground *ground, struct task_end **out_end,
                         struct fault *fault) must_check;

/* NULL is allowed. */
void task_end_free(struct task_end *end);

/* --- each kind's own ------------------------------------------------------------------------- */

enum status task_end_case_new(const struct task_ground *ground, struct task_end **out_end,
                              struct fault *fault) must_check;
enum status task_end_mtu_new(const struct task_ground *ground, struct task_end **out_end,
                             struct fault *fault) must_check;

/* --- what kinds have in common ---------------------------------------------------------------- */

/* The session's key and first SSID. */
uint16_t task_end_key(const struct task_end *end, uint8_t out_key[STAMP_KEY_SIZE]);

/* Where the echo role's socket of this family is bound, and whom it may answer; borrows the end. */
enum status task_end_place(struct task_end *end, enum family family,
                           struct echo_end_place *out_place, struct fault *fault) must_check;

/* Until wake_fd can be read or the time is over. */
void task_end_sleep(int wake_fd, int64_t timeout_ns);

#endif
