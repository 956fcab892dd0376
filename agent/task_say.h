/* The messages of a task to the controller: a part of task. Each of these puts one into the task's
 * mailbox. Not STATUS_OK: the agent's loop is gone, or leaves a thousand messages unread. */
#ifndef SONDE_AGENT_TASK_SAY_H
#define SONDE_AGENT_TASK_SAY_H

#include "proto/link/mailbox.h"
#include "proto/wire/message.h"

struct task_voice {
    struct mailbox *mailbox; /* borrowed */
    const char *session;
};

/* Any message. */
enum status task_say(const struct task_voice *voice, const void *message) must_check;

enum status task_say_opened(const struct task_voice *voice, uint16_t port) must_check;
enum status task_say_refused(const struct task_voice *voice, const char *reason) must_check;
enum status task_say_begun(const struct task_voice *voice, enum phase_kind phase) must_check;
enum status task_say_ended(const struct task_voice *voice, enum phase_kind phase) must_check;

/* Failed when something is broken, else closed; `result` is its report's id, "" without any. */
enum status task_say_over(const struct task_voice *voice, const char *broken,
                          const char *result) must_check;

#endif
