/* Owns what is sent to the two agents in each step of a case, and for how long an answer is waited
 * for. What an answer leads to is decided in measure.c. */
#include <stdio.h>
#include <string.h>

#include "controller/fleet/measure_part.h"
#include "proto/base/text.h"

const struct work_phase *measure_phase(const struct measure *measure)
{
    return &measure->phases[measure->phase_at];
}

enum end_role measure_answerer(const struct measure *measure)
{
    return measure_phase(measure)->prober == END_SENDER ? END_ECHO : END_SENDER;
}

void measure_tell(struct measure *measure)
{
    const struct message_progress *seen = &measure->seen;
    struct message_run_progress progress;

    message_init(&progress, MESSAGE_RUN_PROGRESS);
    text_copy(progress.run, sizeof progress.run, measure->run);
    text_copy(progress.state, sizeof progress.state, measure_state_names[measure->state]);
    progress.index = measure->index;
    progress.phase = measure_phase(measure)->kind;
    progress.elapsed_s = seen->elapsed_s;
    progress.sent = seen->sent;
    progress.received = seen->received;
    progress.low = seen->low;
    progress.high = seen->high;
    progress.flows_done = seen->flows_done;
    measure->port.progress(measure->port.context, &progress);
}

void measure_enter(struct measure *measure, enum measure_state state, int64_t patience_ns,
                   struct mono now)
{
    measure->state = state;
    measure->patience_ns = patience_ns;
    measure->deadline = mono_after(now, patience_ns);
    measure_tell(measure);
}

/* Sends it; where the agent is away, that is the end of the case. */
static void ask(struct measure *measure, enum end_role role, const void *message, struct mono now)
{
    if (!measure->port.send(measure->port.context, role, message))
        measure_away(measure, role, "not connected", now);
}

static int64_t idle_ns(const struct measure *measure)
{
    return (int64_t)(work_idle_s(&measure->work, measure->index) * (double)NS_PER_S);
}

static void send_open(struct measure *measure, enum end_role role, struct mono now)
{
    struct message_open open;

    message_init(&open, MESSAGE_OPEN);
    text_copy(open.session, sizeof open.session, measure->session);
    text_copy(open.run, sizeof open.run, measure->run);
    open.role = role;
    bytes_set(&open.key, measure->key, sizeof measure->key);
    open.ssid = measure->ssid;
    if (role == END_SENDER)
        text_copy(open.target, sizeof open.target, measure->target);
    work_open(&measure->work, measure->index, &open);
    measure->asked[role] = true;
    ask(measure, role, &open, now);
    message_done(&open);
}

static void start_phase(struct measure *measure, size_t phase)
{
    measure->phase_at = phase;
    message_init(&measure->seen, MESSAGE_PROGRESS);
    measure->moves = 0;
}

void measure_open(struct measure *measure, struct mono now)
{
    const struct measure_port *port = &measure->port;
    uint8_t random[10];

    port->random(port->context, random, sizeof random);
    uuid7_format((now.ns + measure->wall_ahead_ns) / NS_PER_MS, random, measure->session);
    port->random(port->context, measure->key, sizeof measure->key);
    measure->ssid = port->ssid(port->context);
    measure->failed = measure->told = measure->joined = false;
    measure->phase_count = work_phases(&measure->work, measure->index, measure->phases);
    start_phase(measure, 0);
    for (size_t i = 0; i < END_COUNT; i++)
        measure->asked[i] = measure->closed[i] = measure->due[i] = measure->came[i] = false;
    measure_enter(measure, MEASURE_OPEN_ECHO, MEASURE_ANSWER_NS + idle_ns(measure), now);
    send_open(measure, END_ECHO, now);
}

void measure_open_sender(struct measure *measure, int64_t port, struct mono now)
{
    enum family family = work_family(&measure->work, measure->index);

    snprintf(measure->target, sizeof measure->target, family == FAMILY_IPV6 ? "[%s]:%d" : "%s:%d",
             measure->addresses.of[family], (int)port);
    measure_enter(measure, MEASURE_OPEN_SENDER, MEASURE_AGREE_NS + idle_ns(measure), now);
    send_open(measure, END_SENDER, now);
}

static void send_begin(struct measure *measure, enum end_role role, struct mono now)
{
    struct message_begin begin;

    message_init(&begin, MESSAGE_BEGIN);
    text_copy(begin.session, sizeof begin.session, measure->session);
    begin.phase = measure_phase(measure)->kind;
    ask(measure, role, &begin, now);
}

void measure_begin_echo(struct measure *measure, size_t phase, struct mono now)
{
    start_phase(measure, phase);
    measure_enter(measure, MEASURE_BEGIN_ECHO, MEASURE_ANSWER_NS, now);
    send_begin(measure, measure_answerer(measure), now);
}

void measure_send(struct measure *measure, struct mono now)
{
    const struct work_phase *phase = measure_phase(measure);

    measure_enter(measure, MEASURE_SEND,
                  (int64_t)(phase->seconds * (double)NS_PER_S) + MEASURE_ANSWER_NS, now);
    send_begin(measure, phase->prober, now);
}

void measure_end_echo(struct measure *measure, struct mono now)
{
    struct message_end end;

    measure_enter(measure, MEASURE_END_ECHO, MEASURE_ANSWER_NS, now);
    message_init(&end, MESSAGE_END);
    text_copy(end.session, sizeof end.session, measure->session);
    end.phase = measure_phase(measure)->kind;
    ask(measure, measure_answerer(measure), &end, now);
}

void measure_close(struct measure *measure, const char *reason, struct mono now)
{
    struct message_close message;

    measure_enter(measure, MEASURE_CLOSE, MEASURE_ANSWER_NS, now);
    message_init(&message, MESSAGE_CLOSE);
    text_copy(message.session, sizeof message.session, measure->session);
    text_copy(message.reason, sizeof message.reason, reason);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (measure->asked[i] && !measure->closed[i] &&
            !measure->port.send(measure->port.context, (enum end_role)i, &message))
            measure->closed[i] = true;
    }
}
