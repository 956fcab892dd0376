/* What the agent does with each message of its controller and of its tasks: the daemon without
 * sockets, threads, files and clocks. Everything it does to the world goes through a table of
 * functions, so that tests run it on virtual time.
 *
 * Results: a task's result goes into the spool first, then `closed` or `failed` is passed on, then
 * the result is sent; it leaves the spool when the controller says committed. Up to
 * SESSIONS_UNACKNOWLEDGED results are under way at once. After a reconnect everything in the spool
 * is sent again, oldest first. The controller gone: every session is closed.
 *
 * What the spool cannot take now (a full disk) waits in memory, up to SESSIONS_HELD results; then
 * the oldest is dropped and counted, and its session has failed.
 */
#ifndef SONDE_AGENT_SESSIONS_H
#define SONDE_AGENT_SESSIONS_H

#include "agent/admission.h"
#include "proto/base/clock.h"

enum { SESSIONS_UNACKNOWLEDGED = 256, SESSIONS_UNACKNOWLEDGED_BYTES = 4 << 20 };
enum { SESSIONS_HELD = 64, SESSIONS_HELD_BYTES = 8 << 20 };

#define SESSIONS_RETRY_NS NS_PER_S /* after the spool could not take or give a result */

/* The world; every function gets `context`. */
struct sessions_port {
    void *context;
    /* One message to the controller; STATUS_NOT_FOUND when it is away. */
    enum status (*send)(void *context, const void *message);
    /* A task for this session, which gets this order. STATUS_NO_RESOURCE and others. */
    enum status (*start)(void *context, const struct message_open *open, struct fault *fault);
    /* A message to the session's task. */
    void (*tell)(void *context, const char *session, const void *message);
    /* The task is over: join and forget it. */
    void (*join)(void *context, const char *session);
    /* As spool.h says. */
    enum status (*spool_put)(void *context, const struct message_result *result,
                             struct fault *fault);
    enum status (*spool_next)(void *context, int64_t after, struct message_result *out_result,
                              int64_t *out_place);
    enum status (*spool_forget)(void *context, const struct list *ids);
};

struct sessions;

/* The port is copied, the admission borrowed until sessions_use or sessions_free. */
struct sessions *sessions_new(const struct admission *admission, const struct sessions_port *port);
/* Every task must be over; what waits for the spool is lost. NULL is allowed. */
void sessions_free(struct sessions *sessions);

/* New sessions are admitted by this one. */
void sessions_use(struct sessions *sessions, const struct admission *admission);

/* The controller is there (it said welcome) or gone. */
void sessions_connected(struct sessions *sessions, struct mono now);
void sessions_disconnected(struct sessions *sessions, struct mono now);

/* A message of the controller, already read and of its role. */
void sessions_control(struct sessions *sessions, const union message *message, struct mono now);

/* A message of this session's task. */
void sessions_task(struct sessions *sessions, const char *session, const union message *message,
                   struct mono now);

/* Retries what could not be done (a full disk, a controller that does not read). */
void sessions_tick(struct sessions *sessions, struct mono now);
struct mono sessions_deadline(const struct sessions *sessions);

/* Closes every session and opens no more; returns how many tasks still run. */
size_t sessions_stop(struct sessions *sessions);

/* Sessions whose tasks run. */
size_t sessions_count(const struct sessions *sessions);

/* Results that never came into the spool, since the start. */
int64_t sessions_dropped(const struct sessions *sessions);

#endif
