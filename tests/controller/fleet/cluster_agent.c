/* Owns a simulated agent: the real sessions on tasks that count as told and a spool in memory that
 * survives a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "tests/controller/fleet/cluster.h"
#include "tests/controller/fleet/make_report.h"

/* --- tasks ---------------------------------------------------------------------------------- */

static struct cluster_task *find_task(struct cluster_agent *agent, const char *session)
{
    struct cluster_task *tasks = agent->tasks.items;

    for (size_t i = 0; i < agent->tasks.count; i++) {
        if (strcmp(tasks[i].open.session, session) == 0)
            return &tasks[i];
    }
    return NULL;
}

void agent_later(struct cluster_agent *agent, const char *session, const void *message,
                 int64_t delay_ns)
{
    struct event *event;

    if (agent->mute)
        return;
    event = cluster_event(agent->cluster, EVENT_TASK, agent->number, delay_ns);
    text_copy(event->session, sizeof event->session, session);
    assert_int_equal(STATUS_OK, message_put(message, &event->bytes));
}

static enum status port_start(void *context, const struct message_open *open, struct fault *fault)
{
    struct cluster_agent *agent = context;
    struct cluster_task *task;
    struct message_opened opened;
    int64_t idle_ns = (int64_t)(open->of_case.idle_s * (double)NS_PER_S);

    if (agent->refuse[0] != '\0' &&
        !(agent->refuse_v4 && open->of_mtu.params.family == FAMILY_IPV6))
        return fault_set(fault, STATUS_NO_RESOURCE, "%s", agent->refuse);
    task = list_append_sized(&agent->tasks, sizeof *task);
    *task = (struct cluster_task){ .open = *open };
    message_init(&opened, MESSAGE_OPENED);
    text_copy(opened.session, sizeof opened.session, open->session);
    opened.port = open->role == END_ECHO ? 7900 : 0;
    agent_later(agent, open->session, &opened, idle_ns + NS_PER_MS);
    return STATUS_OK;
}

void agent_say_phase(struct cluster_agent *agent, const char *session, enum message_type type,
                     enum phase_kind phase, int64_t delay_ns)
{
    union message message;

    message_init(&message, type);
    text_copy(message.begun.session, sizeof message.begun.session, session);
    if (type == MESSAGE_PROGRESS) {
        message.progress.phase = phase;
        message.progress.sent = message.progress.received = 50;
    } else {
        message.begun.phase = phase;
    }
    agent_later(agent, session, &message, delay_ns);
}

void agent_say_report(struct cluster_agent *agent, const struct message_open *task,
                      const struct record *record, const void *report, const char *id)
{
    struct message_result result;
    struct message_closed closed;
    struct buf body;

    buf_init(&body, LIMIT_RESULT_BYTES);
    assert_int_equal(STATUS_OK, record_to_msgpack(record, report, &body));
    message_init(&result, MESSAGE_RESULT);
    text_copy(result.id, sizeof result.id, id);
    text_copy(result.kind, sizeof result.kind, work_report_names[task->kind]);
    bytes_set(&result.body, body.data, body.length);
    agent_later(agent, task->session, &result, NS_PER_MS);
    message_init(&closed, MESSAGE_CLOSED);
    text_copy(closed.session, sizeof closed.session, task->session);
    text_copy(closed.result, sizeof closed.result, id);
    agent_later(agent, task->session, &closed, NS_PER_MS);
    message_done(&result);
    buf_done(&body);
}

static void close_case(struct cluster_agent *agent, const struct message_open *task,
                       const char *error)
{
    struct made_phase made = made_clean(100);
    struct report report;

    make_report(task->role, &task->of_case.params, &made, &report);
    text_copy(report.run, sizeof report.run, task->run);
    text_copy(report.session, sizeof report.session, task->session);
    text_copy(report.error, sizeof report.error, error);
    report.index = task->index;
    temp_id((uint64_t)++agent->cluster->results_made, report.id);
    agent_say_report(agent, task, &report_record, &report, report.id);
    record_done(&report_record, &report);
}

static void begin_case(struct cluster_agent *agent, const struct message_open *task,
                       enum phase_kind phase)
{
    const struct case_common *common = &task->of_case.params.common;
    double seconds = phase == PHASE_WARMUP ? common->warmup_s : common->seconds;
    int64_t ns = (int64_t)(seconds * (double)NS_PER_S);

    if (task->role == END_ECHO) {
        agent_say_phase(agent, task->session, MESSAGE_BEGUN, phase, NS_PER_MS);
        return;
    }
    agent_say_phase(agent, task->session, MESSAGE_PROGRESS, phase, ns / 2);
    agent_say_phase(agent, task->session, MESSAGE_ENDED, phase, ns + NS_PER_S);
}

static void port_tell(void *context, const char *session, const void *bytes)
{
    struct cluster_agent *agent = context;
    struct cluster_task *task = find_task(agent, session);
    const union message *message = bytes;

    assert_non_null(task);
    if (message->type == MESSAGE_END)
        agent_say_phase(agent, session, MESSAGE_ENDED, message->end.phase, NS_PER_MS);
    else if (message->type == MESSAGE_CLOSE && task->open.kind == WORK_MTU)
        agent_mtu_close(agent, task, message->close.reason);
    else if (message->type == MESSAGE_CLOSE)
        close_case(agent, &task->open, message->close.reason);
    else if (task->open.kind == WORK_MTU)
        agent_mtu_begin(agent, task, message->begin.phase);
    else
        begin_case(agent, &task->open, message->begin.phase);
}

static void port_join(void *context, const char *session)
{
    struct cluster_agent *agent = context;
    struct cluster_task *tasks = agent->tasks.items, *task = find_task(agent, session);

    assert_non_null(task);
    *task = tasks[--agent->tasks.count];
}

void agent_task_event(struct cluster_agent *agent, const struct event *event)
{
    struct cluster_task *task = find_task(agent, event->session);
    union message message;
    struct fault fault;

    /* Of an earlier life, or of a task that is over. */
    if (agent->dead || task == NULL)
        return;
    assert_int_equal(STATUS_OK, message_get(event->bytes.data, event->bytes.length,
                                            (struct message_way){ ROLE_AGENT, ROLE_CONTROLLER },
                                            &message, &fault));
    task->probed |= message.type == MESSAGE_ENDED && task->probes;
    sessions_task(agent->sessions, event->session, &message, agent->cluster->now);
    message_done(&message);
}

/* --- the spool ------------------------------------------------------------------------------ */

static enum status port_put(void *context, const struct message_result *result, struct fault *fault)
{
    struct cluster_agent *agent = context;
    struct spooled *spooled = list_append_sized(&agent->spool, sizeof *spooled);

    (void)fault;
    text_copy(spooled->id, sizeof spooled->id, result->id);
    text_copy(spooled->kind, sizeof spooled->kind, result->kind);
    bytes_set(&spooled->body, result->body.data, result->body.length);
    return STATUS_OK;
}

static enum status port_next(void *context, int64_t after, struct message_result *out_result,
                             int64_t *out_place)
{
    struct cluster_agent *agent = context;
    const struct spooled *spooled = agent->spool.items;

    for (size_t i = (size_t)after; i < agent->spool.count; i++) {
        if (spooled[i].forgotten)
            continue;
        text_copy(out_result->id, sizeof out_result->id, spooled[i].id);
        text_copy(out_result->kind, sizeof out_result->kind, spooled[i].kind);
        bytes_set(&out_result->body, spooled[i].body.data, spooled[i].body.length);
        *out_place = (int64_t)i + 1;
        return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

static enum status port_forget(void *context, const struct list *ids)
{
    struct cluster_agent *agent = context;
    struct spooled *spooled = agent->spool.items;
    char *const *words = ids->items;

    for (size_t i = 0; i < ids->count; i++) {
        size_t k = 0;

        while (k < agent->spool.count && strcmp(spooled[k].id, words[i]) != 0)
            k++;
        /* Nothing is acknowledged that was not sent, or that is not durable. */
        assert_true(k < agent->spool.count);
        spooled[k].forgotten = true;
    }
    return STATUS_OK;
}

size_t cluster_spooled(const struct cluster *cluster, size_t agent)
{
    const struct list *spool = &cluster->agents[agent].spool;
    const struct spooled *spooled = spool->items;
    size_t count = 0;

    for (size_t i = 0; i < spool->count; i++)
        count += !spooled[i].forgotten;
    return count;
}

void cluster_put(struct cluster *cluster, size_t agent, const struct message_result *result)
{
    struct fault fault;

    assert_int_equal(STATUS_OK, port_put(&cluster->agents[agent], result, &fault));
}

void cluster_result(struct cluster *cluster, size_t agent, const char *kind, size_t length)
{
    struct message_result result;
    uint8_t *body = calloc(1, length);

    assert_non_null(body);
    message_init(&result, MESSAGE_RESULT);
    temp_id((uint64_t)++cluster->results_made, result.id);
    text_copy(result.kind, sizeof result.kind, kind);
    for (size_t i = 0; i < length; i++)
        body[i] = (uint8_t)(i * 7 + length);
    bytes_set(&result.body, body, length);
    cluster_put(cluster, agent, &result);
    message_done(&result);
    free(body);
}

void cluster_resend(struct cluster *cluster, size_t agent)
{
    const struct cluster_agent *from = &cluster->agents[agent];

    if (from->peer != 0)
        sessions_connected(from->sessions, cluster->now);
}

/* --- its life ------------------------------------------------------------------------------- */

static enum status port_send(void *context, const void *message)
{
    struct cluster_agent *agent = context;

    if (agent->peer == 0)
        return STATUS_NOT_FOUND;
    return cluster_to_hub(agent->cluster, agent->peer, message) ? STATUS_OK : STATUS_NOT_FOUND;
}

void agent_new_life(struct cluster_agent *agent)
{
    const struct sessions_port port = { .context = agent,
                                        .send = port_send,
                                        .start = port_start,
                                        .tell = port_tell,
                                        .join = port_join,
                                        .spool_put = port_put,
                                        .spool_next = port_next,
                                        .spool_forget = port_forget };

    snprintf(agent->instance, sizeof agent->instance, "instance-%u",
             cluster_random(agent->cluster));
    agent->dead = false;
    agent->sessions = sessions_new(agent->cluster->admission, &port);
}

/* Its tasks end without a word. */
void agent_end_life(struct cluster_agent *agent)
{
    agent->peer = 0;
    agent->dead = true;
    while (agent->tasks.count > 0) {
        const struct cluster_task *task = agent->tasks.items;
        union message closed;

        message_init(&closed, MESSAGE_CLOSED);
        text_copy(closed.closed.session, sizeof closed.closed.session, task->open.session);
        sessions_task(agent->sessions, closed.closed.session, &closed, agent->cluster->now);
    }
    sessions_free(agent->sessions);
    agent->sessions = NULL;
}

void agent_free(struct cluster_agent *agent)
{
    struct spooled *spooled = agent->spool.items;

    if (!agent->dead)
        agent_end_life(agent);
    for (size_t i = 0; i < agent->spool.count; i++)
        bytes_done(&spooled[i].body);
    free(agent->spool.items);
    free(agent->tasks.items);
}

void agent_hello(struct cluster_agent *agent)
{
    struct message_hello hello;
    char address[] = "10.9.0.1";

    address[7] = (char)('1' + agent->number);
    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION;
    text_copy(hello.version, sizeof hello.version, "0.1.0");
    text_copy(hello.instance, sizeof hello.instance, agent->instance);
    text_copy(hello.os, sizeof hello.os, "Linux");
    if (!agent->no_v4)
        words_add(&hello.addresses, address);
    if (agent->address_v6[0] != '\0')
        words_add(&hello.addresses, agent->address_v6);
    cluster_to_hub(agent->cluster, agent->peer, &hello);
    message_done(&hello);
}

void agent_message(struct cluster_agent *agent, const union message *message)
{
    if (message->type == MESSAGE_WELCOME)
        sessions_connected(agent->sessions, agent->cluster->now);
    else
        sessions_control(agent->sessions, message, agent->cluster->now);
}
