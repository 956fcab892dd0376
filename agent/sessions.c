/* Owns the list of sessions and the routing of messages between the controller and their tasks.
 * Must not know sockets, threads, files or clocks; results are sessions_results.c's. */
#include "agent/sessions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sessions_results.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

enum session_state {
    SESSION_OPEN,    /* its task works on it */
    SESSION_CLOSING, /* its task was told to close */
    SESSION_OVER     /* its task is gone, its result waits for the spool */
};

struct session {
    struct session *next;
    char id[UUID_SIZE];
    enum session_state state;
    bool result_waits;          /* for the spool */
    char lost[REASON_SIZE];     /* why its result will never be there; "" */
    struct message_failed last; /* what is to be passed on; failed when it has a reason */
};

struct sessions {
    const struct admission *admission;
    struct sessions_port port;
    struct results *results;
    struct session *first;
    size_t tasks;
    bool stopping;
};

/* --- the list --------------------------------------------------------------------------------- */

static struct session *find(const struct sessions *sessions, const char *id)
{
    struct session *session = sessions->first;

    while (session != NULL && strcmp(session->id, id) != 0)
        session = session->next;
    return session;
}

static struct session *add(struct sessions *sessions, const char *id)
{
    struct session *session = memory_new(1, sizeof *session);

    text_copy(session->id, sizeof session->id, id);
    session->next = sessions->first;
    sessions->first = session;
    sessions->tasks++;
    return session;
}

static void forget(struct sessions *sessions, struct session *session)
{
    struct session **link = &sessions->first;

    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    free(session);
}

/* The controller may be away: then nobody waits for it. */
static void answer(const struct sessions *sessions, const void *message)
{
    (void)sessions->port.send(sessions->port.context, message);
}

/* --- the end of a session --------------------------------------------------------------------- */

static void answer_failed(const struct sessions *sessions, const char *session, const char *result,
                          const char *reason)
{
    struct message_failed failed;

    message_init(&failed, MESSAGE_FAILED);
    text_copy(failed.session, sizeof failed.session, session);
    text_copy(failed.result, sizeof failed.result, result);
    text_copy(failed.reason, sizeof failed.reason, reason);
    log_line(LOG_LEVEL_WARNING, "session %s: failed: %s", session, reason);
    answer(sessions, &failed);
}

static void answer_closed(const struct sessions *sessions, const char *session, const char *result)
{
    struct message_closed closed;

    message_init(&closed, MESSAGE_CLOSED);
    text_copy(closed.session, sizeof closed.session, session);
    text_copy(closed.result, sizeof closed.result, result);
    log_line(LOG_LEVEL_INFO, "session %s: closed", session);
    answer(sessions, &closed);
}

/* Its result is where it can be: says so, and forgets it. */
static void pass_on(struct sessions *sessions, struct session *session)
{
    const struct message_failed *last = &session->last;

    if (session->lost[0] != '\0')
        answer_failed(sessions, session->id, "", session->lost);
    else if (last->reason[0] != '\0')
        answer_failed(sessions, session->id, last->result, last->reason);
    else
        answer_closed(sessions, session->id, last->result);
    forget(sessions, session);
}

static void settled(void *context, const char *id, const char *lost)
{
    struct sessions *sessions = context;
    struct session *session = find(sessions, id);

    if (session == NULL)
        return;
    session->result_waits = false;
    if (lost != NULL)
        text_copy(session->lost, sizeof session->lost, lost);
    if (session->state == SESSION_OVER)
        pass_on(sessions, session);
}

static void join(struct sessions *sessions, const char *id)
{
    assert(sessions->tasks > 0);
    sessions->tasks--;
    sessions->port.join(sessions->port.context, id);
}

static void end(struct sessions *sessions, struct session *session, struct mono now)
{
    join(sessions, session->id);
    session->state = SESSION_OVER;
    if (!session->result_waits)
        pass_on(sessions, session);
    results_send(sessions->results, now);
}

/* --- what tasks say --------------------------------------------------------------------------- */

typedef void handler(struct sessions *sessions, struct session *session,
                     const union message *message, struct mono now);

static void task_says(struct sessions *sessions, struct session *session,
                      const union message *message, struct mono now)
{
    (void)session;
    (void)now;
    answer(sessions, message);
}

static void task_refused(struct sessions *sessions, struct session *session,
                         const union message *message, struct mono now)
{
    (void)now;
    log_line(LOG_LEVEL_WARNING, "session %s: refused: %s", session->id, message->refused.reason);
    join(sessions, session->id);
    answer(sessions, message);
    forget(sessions, session);
}

static void task_result(struct sessions *sessions, struct session *session,
                        const union message *message, struct mono now)
{
    struct fault fault = { "" };
    enum status status = results_put(sessions->results, session->id, &message->result, now, &fault);

    if (status == STATUS_AGAIN)
        session->result_waits = true;
    else if (status != STATUS_OK)
        text_copy(session->lost, sizeof session->lost, fault.text);
}

static void task_closed(struct sessions *sessions, struct session *session,
                        const union message *message, struct mono now)
{
    memcpy(session->last.result, message->closed.result, sizeof session->last.result);
    end(sessions, session, now);
}

static void task_failed(struct sessions *sessions, struct session *session,
                        const union message *message, struct mono now)
{
    session->last = message->failed;
    if (session->last.reason[0] == '\0')
        text_copy(session->last.reason, sizeof session->last.reason, "no reason was given");
    end(sessions, session, now);
}

void sessions_task(struct sessions *sessions, const char *session, const union message *message,
                   struct mono now)
{
    static handler *const handlers[MESSAGE_COUNT] = {
        [MESSAGE_OPENED] = task_says,   [MESSAGE_REFUSED] = task_refused,
        [MESSAGE_BEGUN] = task_says,    [MESSAGE_PROGRESS] = task_says,
        [MESSAGE_MOVED] = task_says,    [MESSAGE_ENDED] = task_says,
        [MESSAGE_CLOSED] = task_closed, [MESSAGE_FAILED] = task_failed,
        [MESSAGE_RESULT] = task_result,
    };
    struct session *known = find(sessions, session);

    if (known == NULL || known->state == SESSION_OVER || handlers[message->type] == NULL)
        log_line(LOG_LEVEL_DEBUG, "session %s: its task's \"%s\" is not expected", session,
                 message_names[message->type]);
    else
        handlers[message->type](sessions, known, message, now);
}

/* --- what the controller says ----------------------------------------------------------------- */

static void close_one(struct sessions *sessions, struct session *session, const char *reason)
{
    struct message_close close;

    if (session->state != SESSION_OPEN)
        return;
    message_init(&close, MESSAGE_CLOSE);
    text_copy(close.session, sizeof close.session, session->id);
    text_copy(close.reason, sizeof close.reason, reason);
    session->state = SESSION_CLOSING;
    sessions->port.tell(sessions->port.context, session->id, &close);
}

static void close_all(struct sessions *sessions, const char *reason)
{
    for (struct session *session = sessions->first; session != NULL; session = session->next)
        close_one(sessions, session, reason);
}

static void refuse(struct sessions *sessions, const char *session, const char *reason)
{
    struct message_refused refused;

    message_init(&refused, MESSAGE_REFUSED);
    text_copy(refused.session, sizeof refused.session, session);
    text_copy(refused.reason, sizeof refused.reason, reason);
    log_line(LOG_LEVEL_WARNING, "session %s: refused: %s", session, reason);
    answer(sessions, &refused);
}

static enum status admit(const struct sessions *sessions, const struct message_open *open,
                         struct fault *fault)
{
    if (sessions->stopping)
        return fault_set(fault, STATUS_INTERRUPTED, "this agent is being stopped");
    if (find(sessions, open->session) != NULL)
        return fault_set(fault, STATUS_EXISTS, "this session is open here already");
    return admission_check(sessions->admission, open, sessions->tasks, fault);
}

static void control_open(struct sessions *sessions, const struct message_open *open)
{
    struct fault fault = { "" };
    enum status status = admit(sessions, open, &fault);

    if (status == STATUS_OK)
        status = sessions->port.start(sessions->port.context, open, &fault);
    if (status != STATUS_OK) {
        refuse(sessions, open->session, fault.text[0] != '\0' ? fault.text : status_text(status));
        return;
    }
    add(sessions, open->session);
    log_line(LOG_LEVEL_INFO, "session %s: opens as %s%s%s, %s %lld of run %s", open->session,
             end_role_names[open->role], open->target[0] != '\0' ? " to " : "", open->target,
             open->kind == WORK_MTU ? "path MTU" : "case", (long long)open->index, open->run);
}

static void control_close(struct sessions *sessions, struct session *session,
                          const union message *message, struct mono now)
{
    (void)now;
    if (session->state == SESSION_OPEN && message->close.reason[0] != '\0')
        log_line(LOG_LEVEL_INFO, "session %s: the controller closes it: %s", session->id,
                 message->close.reason);
    close_one(sessions, session, message->close.reason);
}

static void control_phase(struct sessions *sessions, struct session *session,
                          const union message *message, struct mono now)
{
    (void)now;
    if (session->state == SESSION_OPEN)
        sessions->port.tell(sessions->port.context, session->id, message);
}

/* For a session that should be here: the controller need not wait for its deadline to learn that
 * it is not. */
static void control_session(struct sessions *sessions, const char *id, handler *handle,
                            const union message *message, struct mono now)
{
    struct session *session = find(sessions, id);

    if (session == NULL)
        answer_failed(sessions, id, "", "this session is not open here");
    else
        handle(sessions, session, message, now);
}

void sessions_control(struct sessions *sessions, const union message *message, struct mono now)
{
    if (message->type == MESSAGE_OPEN)
        control_open(sessions, &message->open);
    else if (message->type == MESSAGE_BEGIN)
        control_session(sessions, message->begin.session, control_phase, message, now);
    else if (message->type == MESSAGE_END)
        control_session(sessions, message->end.session, control_phase, message, now);
    else if (message->type == MESSAGE_CLOSE)
        control_session(sessions, message->close.session, control_close, message, now);
    else if (message->type == MESSAGE_COMMITTED)
        results_committed(sessions->results, &message->committed.ids, now);
    else
        log_line(LOG_LEVEL_DEBUG, "the controller's \"%s\" is not expected",
                 message_names[message->type]);
}

/* --- all of it -------------------------------------------------------------------------------- */

struct sessions *sessions_new(const struct admission *admission, const struct sessions_port *port)
{
    struct sessions *sessions = memory_new(1, sizeof *sessions);

    sessions->admission = admission;
    sessions->port = *port;
    sessions->results = results_new(&sessions->port, settled, sessions);
    return sessions;
}

void sessions_free(struct sessions *sessions)
{
    if (sessions == NULL)
        return;
    assert(sessions->tasks == 0);
    while (sessions->first != NULL)
        forget(sessions, sessions->first);
    results_free(sessions->results);
    free(sessions);
}

void sessions_use(struct sessions *sessions, const struct admission *admission)
{
    sessions->admission = admission;
}

void sessions_connected(struct sessions *sessions, struct mono now)
{
    results_connected(sessions->results, now);
}

void sessions_disconnected(struct sessions *sessions, struct mono now)
{
    (void)now;
    results_disconnected(sessions->results);
    close_all(sessions, "the connection to the controller is gone");
}

void sessions_tick(struct sessions *sessions, struct mono now)
{
    results_tick(sessions->results, now);
}

struct mono sessions_deadline(const struct sessions *sessions)
{
    return results_deadline(sessions->results);
}

size_t sessions_stop(struct sessions *sessions)
{
    sessions->stopping = true;
    close_all(sessions, "this agent is being stopped");
    return sessions->tasks;
}

size_t sessions_count(const struct sessions *sessions)
{
    return sessions->tasks;
}

int64_t sessions_dropped(const struct sessions *sessions)
{
    return results_dropped(sessions->results);
}
