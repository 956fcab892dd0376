/* What a task says of itself around what its end has measured, and the form in which it leaves: a
 * part of task. */
#ifndef SONDE_AGENT_TASK_REPORT_H
#define SONDE_AGENT_TASK_REPORT_H

#include "proto/base/clock.h"
#include "proto/wire/message.h"

/* What each report has, whatever was measured. */
struct task_frame {
    char id[UUID_SIZE];
    char started[32], finished[32];
    char error[REASON_SIZE]; /* "" for none */
    struct wall began_wall;
    struct mono began;
    int64_t clock_step_ns;
};

/* The time starts to run. */
void task_frame_begin(struct task_frame *out_frame);

/* The time is over: the id, and whether the clock was set meanwhile. */
void task_frame_end(struct task_frame *frame);

/* Why it did not measure what it was asked for: what broke, or why it was closed; "" for none. */
void task_frame_error(struct task_frame *frame, const char *broken, const char *closing);

/* What a report's host has beyond what the instrument knows. Once. */
void task_frame_host(const struct task_frame *frame, struct host *host);

struct task_report {
    const char *kind; /* of the result */
    const struct record *record;
    const void *object;
    const char *id;
};

/* The report as a result, which is the caller's (message_done). STATUS_TOO_LARGE: above
 * LIMIT_RESULT_BYTES. */
enum status task_report_result(const struct task_report *report, struct message_result *out_result,
                               struct fault *fault) must_check;

#endif
