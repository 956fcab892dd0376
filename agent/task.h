/* One end of one session, of a case or of a path MTU, on a thread of its own. It is spoken to with
 * messages of the control channel over a mailbox, and answers with them: in go open (already
 * admitted), begin, end, close; out come opened or refused, begun, progress, moved, ended, and at
 * the end one result (the report) and then closed or failed. Its last message is refused, closed or
 * failed; each ends with it.
 *
 * From when its sockets are open, also when the echo role then does not agree, it makes a report:
 * nothing that was measured is lost.
 *
 * It ends by itself: when nothing was asked of it for TASK_PATIENCE_NS outside of a phase, when a
 * phase at the end that answers is longer than it can be and that, when one of a path MTU session
 * is longer than this host allows, when it is told to close, when its mailbox is gone.
 *
 * Phases come in the order of enum phase_kind, each once; any may be left out.
 */
#ifndef SONDE_AGENT_TASK_H
#define SONDE_AGENT_TASK_H

#include "agent/admission.h"
#include "agent/config.h"
#include "proto/link/mailbox.h"

#define TASK_PATIENCE_NS (30 * NS_PER_S)

/* The longest idle interval before a case: the controller waits for an answer meanwhile. */
#define TASK_IDLE_S LIMIT_PAIR_IDLE_S

struct task;

/* What a task is made from; borrowed for its life. */
struct task_surroundings {
    const struct echo_config *echo;
    const struct admission *admission;
    int64_t patience_ns; /* TASK_PATIENCE_NS; tests are less patient */
};

/* Starts the thread; `mailbox` is the task's end and becomes its own, whatever is returned. Signals
 * are blocked in it. */
enum status task_start(const struct task_surroundings *surroundings, struct mailbox *mailbox,
                       struct task **out_task, struct fault *fault) must_check;

/* Tells it to stop at once (from the thread that started it), waits for it and frees it. NULL is
 * allowed. */
void task_join(struct task *task);

#endif
