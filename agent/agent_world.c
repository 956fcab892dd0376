/* Owns the tables of functions through which sessions and uplink reach each other, the tasks and
 * the spool. Decides nothing. */
#include <stdio.h>
#include <string.h>

#include "agent/agent_part.h"
#include "agent/host/addresses.h"
#include "agent/host/machine.h"
#include "agent/host/wall_state.h"
#include "proto/base/digest.h"
#include "proto/base/log.h"
#include "proto/base/text.h"

/* --- what sessions do ------------------------------------------------------------------------- */

static enum status port_send(void *context, const void *message)
{
    struct agent *agent = context;

    return agent->uplink != NULL ? uplink_send(agent->uplink, message) : STATUS_NOT_FOUND;
}

static enum status port_start(void *context, const struct message_open *open, struct fault *fault)
{
    struct agent *agent = context;

    return tasks_start(agent->tasks, agent->rules, open, fault);
}

static void port_tell(void *context, const char *session, const void *message)
{
    struct agent *agent = context;

    tasks_tell(agent->tasks, session, message);
}

static void port_join(void *context, const char *session)
{
    struct agent *agent = context;

    tasks_over(agent->tasks, session);
}

static enum status port_spool_put(void *context, const struct message_result *result,
                                  struct fault *fault)
{
    struct agent *agent = context;

    return spool_put(agent->spool, result, fault);
}

static void log_spool_fault(struct agent *agent, const struct fault *fault)
{
    if (strcmp(agent->spool_fault, fault->text) != 0)
        log_line(LOG_LEVEL_ERROR, "%s", fault->text);
    text_copy(agent->spool_fault, sizeof agent->spool_fault, fault->text);
}

static enum status port_spool_next(void *context, int64_t after, struct message_result *out_result,
                                   int64_t *out_place)
{
    struct agent *agent = context;
    struct fault fault;
    enum status status = spool_next(agent->spool, after, out_result, out_place, &fault);

    if (status == STATUS_OK)
        agent->spool_fault[0] = '\0';
    else if (status != STATUS_NOT_FOUND)
        log_spool_fault(agent, &fault);
    return status;
}

static enum status port_spool_forget(void *context, const struct list *ids)
{
    struct agent *agent = context;
    struct fault fault;
    enum status status = spool_forget(agent->spool, ids, &fault);

    if (status != STATUS_OK)
        log_spool_fault(agent, &fault);
    return status;
}

struct sessions_port agent_sessions_port(struct agent *agent)
{
    return (struct sessions_port){
        .context = agent,
        .send = port_send,
        .start = port_start,
        .tell = port_tell,
        .join = port_join,
        .spool_put = port_spool_put,
        .spool_next = port_spool_next,
        .spool_forget = port_spool_forget,
    };
}

/* --- what comes in ---------------------------------------------------------------------------- */

void agent_settle(struct agent *agent, struct mono now)
{
    struct mono due = sessions_deadline(agent->sessions);

    if (due.ns == INT64_MAX)
        loop_timer_cancel(agent->loop, &agent->retry);
    else
        loop_timer_set(agent->loop, &agent->retry, due);
    if (agent->is_stopping && sessions_count(agent->sessions) == 0)
        loop_timer_set(agent->loop, &agent->stopping, now);
}

void agent_task_says(void *context, const char *session, const union message *message,
                     struct mono now)
{
    struct agent *agent = context;

    sessions_task(agent->sessions, session, message, now);
    agent_settle(agent, now);
}

static void on_connected(void *context, struct mono now)
{
    struct agent *agent = context;
    char text[400];

    snprintf(text, sizeof text, "connected to %s", agent->config.controller.address);
    notify_status(&agent->notify, text);
    sessions_connected(agent->sessions, now);
    agent_settle(agent, now);
}

static void on_disconnected(void *context, struct mono now)
{
    struct agent *agent = context;
    char text[400];

    snprintf(text, sizeof text, "not connected: tries %s", agent->config.controller.address);
    notify_status(&agent->notify, text);
    sessions_disconnected(agent->sessions, now);
    agent_settle(agent, now);
}

static void on_message(void *context, const union message *message, struct mono now)
{
    struct agent *agent = context;

    sessions_control(agent->sessions, message, now);
    agent_settle(agent, now);
}

/* --- what it says of itself ------------------------------------------------------------------- */

static struct spool_report report_spool(const struct agent *agent)
{
    struct spool_report report;

    spool_report(agent->spool, &report);
    report.dropped += sessions_dropped(agent->sessions);
    return report;
}

static void describe(void *context, struct message_hello *out_hello,
                     struct message_status *out_status)
{
    struct agent *agent = context;

    if (out_hello != NULL) {
        memcpy(out_hello->instance, agent->self.instance, sizeof out_hello->instance);
        memcpy(out_hello->os, agent->self.os, sizeof out_hello->os);
        memcpy(out_hello->os_release, agent->self.os_release, sizeof out_hello->os_release);
        memcpy(out_hello->arch, agent->self.arch, sizeof out_hello->arch);
        out_hello->sessions_max = agent->config.admission.max_sessions;
        out_hello->spool = report_spool(agent);
        wall_state(&out_hello->clock);
        addresses_list(&out_hello->addresses);
    }
    if (out_status != NULL) {
        out_status->sessions = (int64_t)sessions_count(agent->sessions);
        out_status->spool = report_spool(agent);
        wall_state(&out_status->clock);
    }
}

struct uplink_events agent_uplink_events(struct agent *agent)
{
    return (struct uplink_events){
        .context = agent,
        .connected = on_connected,
        .disconnected = on_disconnected,
        .message = on_message,
        .describe = describe,
    };
}

void agent_describe_self(struct agent *agent)
{
    struct message_hello *self = &agent->self;
    uint8_t random[10];
    struct host host;

    record_init(&host_record, &host);
    machine_describe(&host);
    memcpy(self->os, host.os, sizeof self->os);
    memcpy(self->os_release, host.os_release, sizeof self->os_release);
    memcpy(self->arch, host.arch, sizeof self->arch);
    record_done(&host_record, &host);
    digest_random(random, sizeof random);
    uuid7_format(loop_wall(agent->loop).ns / NS_PER_MS, random, self->instance);
}
