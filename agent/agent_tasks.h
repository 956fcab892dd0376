/* The agent's tasks, each with its mailbox on the loop. A part of agent. */
#ifndef SONDE_AGENT_AGENT_TASKS_H
#define SONDE_AGENT_AGENT_TASKS_H

#include "agent/agent_rules.h"
#include "agent/task.h"

/* What a task says, from the loop. */
typedef void tasks_handler(void *context, const char *session, const union message *message,
                           struct mono now);

struct tasks;

struct tasks *tasks_new(struct loop *loop, tasks_handler *handler, void *context);

/* None may be left; NULL is allowed. */
void tasks_free(struct tasks *tasks);

/* A task for this session, which gets this order; it shares the rules until it is over. */
enum status tasks_start(struct tasks *tasks, struct rules *rules, const struct message_open *open,
                        struct fault *fault) must_check;

/* A message to the session's task. */
void tasks_tell(struct tasks *tasks, const char *session, const void *message);

/* The task has said its last message: it is joined and forgotten once the handler returns. */
void tasks_over(struct tasks *tasks, const char *session);

/* Stops every task at once, waits for each, and hears what it still says; one that says no last
 * message is heard as failed. Not from the handler. */
void tasks_stop(struct tasks *tasks, struct mono now);

#endif
