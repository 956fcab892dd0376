/* How the report of a path MTU session is made to fit into a result: a part of task. */
#ifndef SONDE_AGENT_TASK_REPORT_MTU_H
#define SONDE_AGENT_TASK_REPORT_MTU_H

#include "proto/wire/message.h"

/* The latest MTU_EVENTS_MAX changes that watching has noticed. Fresh when zeroed. */
struct task_changes {
    struct mtu_event *ring; /* NULL while there are none */
    int64_t count;          /* of all that came */
};

void task_changes_add(struct task_changes *changes, const struct mtu_event *event);
void task_changes_done(struct task_changes *changes);

/* Puts them into the report, whose error says how many are not there. */
void task_changes_put(const struct task_changes *changes, struct mtu_report *report);

/* Adds to the report's error, as far as there is room. */
void task_report_note(struct mtu_report *report, const char *format, ...) printf_like(2, 3);

/* The report as a result, which is the caller's (message_done). With all flows, changes and sizes
 * it fits; not always with all ICMP messages: then each flow keeps fewer, the others are counted in
 * icmp_missed, and its error says so. */
enum status task_report_mtu_result(struct mtu_report *report, struct message_result *out_result,
                                   struct fault *fault) must_check;

#endif
