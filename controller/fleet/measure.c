/* Owns the states of one run between two hosts and what each event does in each of them. Knows no
 * connection, no store and no clock: the port is its world. */
#include "controller/fleet/measure.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/measure_part.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

const char *const measure_state_names[] = { "open_echo", "open_sender", "begin_echo", "send",
                                            "end_echo",  "close",       "results",    "over" };

struct measure *measure_new(const struct measure_order *order, const struct measure_port *port,
                            struct mono now, struct wall wall)
{
    struct measure *measure = memory_new(1, sizeof *measure);

    text_copy(measure->run, sizeof measure->run, order->run);
    measure->addresses = order->addresses;
    work_copy(order->work, &measure->work);
    measure->count = (int64_t)work_count(order->work);
    measure->port = *port;
    measure->wall_ahead_ns = wall.ns - now.ns;
    measure->outcome = RUN_COMPLETE;
    return measure;
}

void measure_free(struct measure *measure)
{
    if (measure == NULL)
        return;
    record_done(&work_record, &measure->work);
    free(measure);
}

enum measure_state measure_state(const struct measure *measure)
{
    return measure->state;
}

const char *measure_session(const struct measure *measure)
{
    bool between = measure->state == MEASURE_RESULTS || measure->state == MEASURE_OVER;

    return between ? "" : measure->session;
}

struct mono measure_deadline(const struct measure *measure)
{
    return measure->deadline;
}

/* --- the end of a case ---------------------------------------------------------------------- */

static void over(struct measure *measure, struct mono now)
{
    struct mono never = { INT64_MAX };

    measure_enter(measure, MEASURE_OVER, 0, now);
    measure->deadline = never;
    measure->port.over(measure->port.context, measure->outcome, measure->reason);
}

/* The port hears of it once. */
static void tell_failure(struct measure *measure)
{
    if (!measure->failed || measure->told)
        return;
    measure->told = true;
    measure->port.failed(measure->port.context, measure->index, measure->why);
}

static void next_case(struct measure *measure, struct mono now)
{
    tell_failure(measure);
    if (measure->ending || measure->index + 1 >= measure->count) {
        over(measure, now);
        return;
    }
    measure->index++;
    measure_open(measure, now);
}

/* What was measured until an error or a stop is worth a moment's wait. */
static bool has_reports(const struct measure *measure)
{
    if (!measure->ending && !measure->failed)
        return measure->joined;
    for (size_t i = 0; i < END_COUNT; i++) {
        if (measure->due[i] && !measure->came[i])
            return false;
    }
    return true;
}

/* Both ends have closed, or will never say so. */
static void closed(struct measure *measure, struct mono now)
{
    if (has_reports(measure))
        next_case(measure, now);
    else
        measure_enter(measure, MEASURE_RESULTS, MEASURE_RESULT_NS, now);
}

static bool all_closed(const struct measure *measure)
{
    for (size_t i = 0; i < END_COUNT; i++) {
        if (measure->asked[i] && !measure->closed[i])
            return false;
    }
    return true;
}

/* Tells both ends, and waits for their word. */
static void close_case(struct measure *measure, const char *reason, struct mono now)
{
    measure_close(measure, reason, now);
    if (all_closed(measure))
        closed(measure, now);
}

/* The first reason that a case has is its reason. */
static void note_failure(struct measure *measure, const char *reason)
{
    if (measure->failed)
        return;
    measure->failed = true;
    text_copy(measure->why, sizeof measure->why, reason);
    if (!work_has_halves(&measure->work))
        tell_failure(measure);
}

/* After this case there is no other. */
static void note_end(struct measure *measure, enum run_outcome outcome, const char *reason)
{
    if (measure->ending)
        return;
    measure->ending = true;
    measure->outcome = outcome;
    text_copy(measure->reason, sizeof measure->reason, reason);
}

static void fail(struct measure *measure, const char *reason, struct mono now)
{
    note_failure(measure, reason);
    close_case(measure, reason, now);
}

static void phase_over(struct measure *measure, struct mono now)
{
    if (measure->phase_at + 1 < measure->phase_count)
        measure_begin_echo(measure, measure->phase_at + 1, now);
    else
        close_case(measure, "", now);
}

void measure_start(struct measure *measure, struct mono now)
{
    assert(measure->session[0] == '\0');
    measure_open(measure, now);
}

/* --- messages ------------------------------------------------------------------------------- */

static const char *const end_words[] = { "the sender's end", "the echo's end" };

/* Where a message that an agent sends about a session has the session; 0: it has none. */
static const size_t session_at[MESSAGE_COUNT] = {
    [MESSAGE_OPENED] = offsetof(struct message_opened, session),
    [MESSAGE_REFUSED] = offsetof(struct message_refused, session),
    [MESSAGE_BEGUN] = offsetof(struct message_begun, session),
    [MESSAGE_PROGRESS] = offsetof(struct message_progress, session),
    [MESSAGE_MOVED] = offsetof(struct message_moved, session),
    [MESSAGE_ENDED] = offsetof(struct message_ended, session),
    [MESSAGE_CLOSED] = offsetof(struct message_closed, session),
    [MESSAGE_FAILED] = offsetof(struct message_failed, session),
};

static bool is_ours(const struct measure *measure, const union message *message)
{
    size_t at = session_at[message->type];

    return at != 0 && strcmp((const char *)message + at, measure->session) == 0;
}

static void note_closed(struct measure *measure, enum end_role role, const union message *message)
{
    measure->closed[role] = true;
    measure->due[role] = (message->type == MESSAGE_CLOSED && message->closed.result[0] != '\0') ||
                         (message->type == MESSAGE_FAILED && message->failed.result[0] != '\0');
}

/* When the next case would be refused too, or none was not, the run has failed. */
static void note_refusal(struct measure *measure, const char *reason)
{
    measure->refused++;
    if (work_is_alike(&measure->work) || measure->refused == measure->count)
        note_end(measure, RUN_FAILED, reason);
}

/* This end has nothing of the session any more, and says so by itself. */
static void take_gone(struct measure *measure, enum end_role role, const union message *message,
                      struct mono now)
{
    bool refused = message->type == MESSAGE_REFUSED;
    struct fault why = { "" };

    note_closed(measure, role, message);
    if (message->type == MESSAGE_CLOSED)
        (void)fault_set(&why, STATUS_INTERRUPTED, "%s closed before it was told to",
                        end_words[role]);
    else
        (void)fault_set(&why, STATUS_DENIED, "%s %s: %s", end_words[role],
                        refused ? "refused" : "failed",
                        refused ? message->refused.reason : message->failed.reason);
    if (refused)
        note_refusal(measure, why.text);
    fail(measure, why.text, now);
}

static void take_closing(struct measure *measure, enum end_role role, const union message *message,
                         struct mono now)
{
    struct fault why = { "" };

    note_closed(measure, role, message);
    if (message->type == MESSAGE_FAILED && !measure->failed && !measure->ending) {
        (void)fault_set(&why, STATUS_IO, "%s failed: %s", end_words[role], message->failed.reason);
        note_failure(measure, why.text);
    }
    if (all_closed(measure))
        closed(measure, now);
}

static void take_progress(struct measure *measure, const struct message_progress *progress)
{
    if (progress->phase != measure_phase(measure)->kind)
        return;
    measure->seen = *progress;
    measure_tell(measure);
}

/* As many as a report keeps: whoever tells more does not fill watchers' queues with it. */
static void take_moved(struct measure *measure, const struct message_moved *moved)
{
    enum phase_kind phase = measure_phase(measure)->kind;
    struct message_run_moved out;

    if (moved->phase != phase || measure->moves >= MTU_EVENTS_MAX)
        return;
    measure->moves++;
    message_init(&out, MESSAGE_RUN_MOVED);
    text_copy(out.run, sizeof out.run, measure->run);
    out.family = work_family(&measure->work, measure->index);
    out.direction = phase == PHASE_REVERSE ? MTU_REVERSE : MTU_FORWARD;
    out.event = moved->event;
    measure->port.moved(measure->port.context, &out);
}

/* Of the end that sends. */
static void take_sending(struct measure *measure, const union message *message, struct mono now)
{
    if (message->type == MESSAGE_ENDED && message->ended.phase == measure_phase(measure)->kind)
        measure_end_echo(measure, now);
    else if (message->type == MESSAGE_PROGRESS)
        take_progress(measure, &message->progress);
    else if (message->type == MESSAGE_MOVED && measure->work.kind == WORK_MTU)
        take_moved(measure, &message->moved);
}

/* What each state waits for; everything else that belongs to the session changes nothing. */
static void take_awaited(struct measure *measure, enum end_role role, const union message *message,
                         struct mono now)
{
    enum phase_kind phase = measure_phase(measure)->kind;
    bool answers = role == measure_answerer(measure);

    switch (measure->state) {
    case MEASURE_OPEN_ECHO:
        if (role == END_ECHO && message->type == MESSAGE_OPENED)
            measure_open_sender(measure, message->opened.port, now);
        break;
    case MEASURE_OPEN_SENDER:
        if (role == END_SENDER && message->type == MESSAGE_OPENED)
            measure_begin_echo(measure, 0, now);
        break;
    case MEASURE_BEGIN_ECHO:
        if (answers && message->type == MESSAGE_BEGUN && message->begun.phase == phase)
            measure_send(measure, now);
        break;
    case MEASURE_SEND:
        if (!answers)
            take_sending(measure, message, now);
        break;
    case MEASURE_END_ECHO:
        if (answers && message->type == MESSAGE_ENDED && message->ended.phase == phase)
            phase_over(measure, now);
        break;
    case MEASURE_CLOSE:
    case MEASURE_RESULTS:
    case MEASURE_OVER:
    case MEASURE_STATE_COUNT:
        break;
    }
}

void measure_message(struct measure *measure, enum end_role role, const union message *message,
                     struct mono now)
{
    bool gone = message->type == MESSAGE_REFUSED || message->type == MESSAGE_FAILED ||
                message->type == MESSAGE_CLOSED;

    if (!is_ours(measure, message) || !measure->asked[role] || measure->closed[role])
        return;
    if (!gone)
        take_awaited(measure, role, message, now);
    else if (measure->state == MEASURE_CLOSE)
        take_closing(measure, role, message, now);
    else if (measure->state < MEASURE_CLOSE)
        take_gone(measure, role, message, now);
}

/* --- other events --------------------------------------------------------------------------- */

/* While they are waited for: are they there? */
static void look_for_reports(struct measure *measure, struct mono now)
{
    if (measure->state == MEASURE_RESULTS && has_reports(measure))
        next_case(measure, now);
}

void measure_away(struct measure *measure, enum end_role role, const char *reason, struct mono now)
{
    struct fault why = { "" };

    switch (measure->state) {
    case MEASURE_OPEN_ECHO:
    case MEASURE_OPEN_SENDER:
    case MEASURE_BEGIN_ECHO:
    case MEASURE_SEND:
    case MEASURE_END_ECHO:
        measure->closed[role] = true;
        (void)fault_set(&why, STATUS_NOT_FOUND, "%s is away: %s", end_words[role], reason);
        note_end(measure, RUN_FAILED, why.text);
        fail(measure, why.text, now);
        break;
    case MEASURE_CLOSE:
        /* Its session is closed by that; its report comes once it is back. */
        measure->closed[role] = true;
        if (all_closed(measure))
            closed(measure, now);
        break;
    case MEASURE_RESULTS:
        measure->due[role] = false;
        look_for_reports(measure, now);
        break;
    case MEASURE_OVER:
    case MEASURE_STATE_COUNT:
        break;
    }
}

void measure_reported(struct measure *measure, enum end_role role, int64_t index, struct mono now)
{
    if (index != measure->index || measure->state == MEASURE_OVER)
        return;
    measure->came[role] = true;
    look_for_reports(measure, now);
}

void measure_joined(struct measure *measure, int64_t index, struct mono now)
{
    if (index != measure->index || measure->state == MEASURE_OVER)
        return;
    measure->joined = true;
    if (measure->state == MEASURE_RESULTS)
        next_case(measure, now);
}

void measure_stop(struct measure *measure, const char *reason, struct mono now)
{
    if (measure->state == MEASURE_OVER)
        return;
    note_end(measure, RUN_STOPPED, reason);
    if (measure->state < MEASURE_CLOSE)
        close_case(measure, reason, now);
    else
        look_for_reports(measure, now);
}

static const char *late_end(const struct measure *measure)
{
    bool sender = measure->asked[END_SENDER] && !measure->closed[END_SENDER];
    bool echo = measure->asked[END_ECHO] && !measure->closed[END_ECHO];

    return sender && echo ? "both ends" : end_words[sender ? END_SENDER : END_ECHO];
}

/* What did not come in time. */
static void explain_deadline(const struct measure *measure, struct fault *why)
{
    const char *answerer = end_words[measure_answerer(measure)];
    const char *prober = end_words[measure_phase(measure)->prober];
    char patience[TEXT_QUANTITY_SIZE];

    text_duration(measure->patience_ns, patience);
    switch (measure->state) {
    case MEASURE_OPEN_ECHO:
        (void)fault_set(why, STATUS_AGAIN, "no answer of the echo's end to open within %s",
                        patience);
        break;
    case MEASURE_OPEN_SENDER:
        (void)fault_set(why, STATUS_AGAIN,
                        "the sender's end did not come to an agreement with the echo role within "
                        "%s",
                        patience);
        break;
    case MEASURE_BEGIN_ECHO:
        (void)fault_set(why, STATUS_AGAIN, "no answer of %s to begin within %s", answerer,
                        patience);
        break;
    case MEASURE_SEND:
        (void)fault_set(why, STATUS_AGAIN, "%s did not end its phase within %s", prober, patience);
        break;
    case MEASURE_END_ECHO:
        (void)fault_set(why, STATUS_AGAIN, "no answer of %s to end within %s", answerer, patience);
        break;
    case MEASURE_CLOSE:
        (void)fault_set(why, STATUS_AGAIN, "%s did not close within %s", late_end(measure),
                        patience);
        break;
    case MEASURE_RESULTS:
        (void)fault_set(why, STATUS_AGAIN, "the reports of both ends have not come within %s",
                        patience);
        break;
    case MEASURE_OVER:
    case MEASURE_STATE_COUNT:
        break;
    }
}

void measure_tick(struct measure *measure, struct mono now)
{
    struct fault why = { "" };

    if (measure->state == MEASURE_OVER || mono_between(measure->deadline, now) < 0)
        return;
    explain_deadline(measure, &why);
    if (measure->state == MEASURE_CLOSE) {
        if (!measure->ending)
            note_failure(measure, why.text);
        closed(measure, now);
    } else if (measure->state == MEASURE_RESULTS) {
        note_failure(measure, why.text);
        next_case(measure, now);
    } else {
        fail(measure, why.text, now);
    }
}
