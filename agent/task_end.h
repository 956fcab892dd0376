/* One end of a session, whichever its role is: a part of task. */
#ifndef SONDE_AGENT_TASK_END_H
#define SONDE_AGENT_TASK_END_H

#include "agent/probe/end.h"
#include "agent/task.h"

struct task_end;

/* Opens the sockets and listens to the idle interval; nothing is sent. The order has been admitted.
 * STATUS_RANGE when its idle interval is too long. The surroundings are borrowed; `stop`, set, ends
 * the idle interval. */
enum status task_end_new(const struct message_open *open,
                         const struct task_surroundings *surroundings, const atomic_bool *stop,
                         struct task_end **out_end, struct fault *fault) must_check;
void task_end_free(struct task_end *end);

/* The echo role's port; 0 at the sender's end. */
uint16_t task_end_port(const struct task_end *end);

/* As end.h says; the echo's end agrees at once. */
enum status task_end_agree(struct task_end *end, const struct phase_watch *watch,
                           struct fault *fault) must_check;

/* Outside of phases: answers hellos, or sleeps, until wake_fd can be read or the time is over. */
void task_end_wait(struct task_end *end, int wake_fd, int64_t timeout_ns);

enum status task_end_phase(struct task_end *end, enum phase_kind kind,
                           const struct phase_watch *watch, struct half_phase *out_half,
                           struct fault *fault) must_check;

/* Of the running phase; false at the echo's end, which has none. */
bool task_end_progress(const struct task_end *end, int64_t *out_sent, int64_t *out_received);

enum status task_end_report(struct task_end *end, struct report *report,
                            struct fault *fault) must_check;

#endif
