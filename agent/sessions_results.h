/* Results on their way: from a task into the spool, from the spool to the controller. A part of
 * sessions. */
#ifndef SONDE_AGENT_SESSIONS_RESULTS_H
#define SONDE_AGENT_SESSIONS_RESULTS_H

#include "agent/sessions.h"

struct results;

/* The port and the context are borrowed. `settled` is called when a session's result, which
 * results_put could not put, is in the spool (`lost` is NULL) or given up (why). */
struct results *results_new(const struct sessions_port *port,
                            void (*settled)(void *context, const char *session, const char *lost),
                            void *context);
void results_free(struct results *results);

/* Puts it into the spool, behind those that wait. STATUS_AGAIN: it waits too, `settled` follows;
 * else it can never be put, and is dropped and counted. */
enum status results_put(struct results *results, const char *session,
                        const struct message_result *result, struct mono now,
                        struct fault *fault) must_check;

/* Sends what is in the spool and was not sent yet, as far as may be under way at once. */
void results_send(struct results *results, struct mono now);

/* Sends everything that is in the spool, oldest first, until results_disconnected. */
void results_connected(struct results *results, struct mono now);
void results_disconnected(struct results *results);

/* The controller has these. */
void results_committed(struct results *results, const struct list *ids, struct mono now);

void results_tick(struct results *results, struct mono now);
struct mono results_deadline(const struct results *results);

int64_t results_dropped(const struct results *results);

#endif
