/* What a task reports of itself around what its end has measured: a part of task. */
#ifndef SONDE_AGENT_TASK_REPORT_H
#define SONDE_AGENT_TASK_REPORT_H

#include "agent/task_end.h"

struct task_report {
    struct report report; /* the phases are the task's to fill */
    struct wall began_wall;
    struct mono began;
};

/* The time starts to run. */
void task_report_begin(struct task_report *report, const struct message_open *open);
void task_report_done(struct task_report *report);

/* The time is over: fills ids, times, and what the end says. */
enum status task_report_end(struct task_report *report, struct task_end *end,
                            struct fault *fault) must_check;

/* Why it did not measure what it was asked for: what broke, or why it was closed; "" for none. */
void task_report_error(struct task_report *report, const char *broken, const char *closing);

/* The report as a result, which is the caller's (message_done). */
enum status task_report_result(const struct task_report *report, struct message_result *out_result,
                               struct fault *fault) must_check;

#endif
