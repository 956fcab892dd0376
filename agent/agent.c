/* Owns the daemon: what it is made of, its timers, how it begins, reads its files again and ends.
 * What its parts do to each other is agent_world.c's. */
#include "agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent_part.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

#define STOPPING_NS (5 * NS_PER_S) /* how long tasks may take to end on their own */

/* How long before a certificate's end it is spoken of: hosts are many, and renewed by hand. */
#define NOTICE_NS (14 * 24 * 3600 * NS_PER_S)

/* --- timers ----------------------------------------------------------------------------------- */

static void on_retry(void *context, struct mono now)
{
    struct agent *agent = context;

    sessions_tick(agent->sessions, now);
    agent_settle(agent, now);
}

static void on_watchdog(void *context, struct mono now)
{
    struct agent *agent = context;

    notify_watchdog(&agent->notify);
    loop_timer_set(agent->loop, &agent->watchdog, mono_after(now, agent->notify.watchdog_ns));
}

static void on_certificates(void *context, struct mono now)
{
    struct agent *agent = context;

    agent_check_certificates(agent);
    loop_timer_set(agent->loop, &agent->certificates, mono_after(now, CREDENTIALS_LOOK_NS));
}

/* Every task is over, or has had its time. */
static void on_stopping(void *context, struct mono now)
{
    struct agent *agent = context;

    tasks_stop(agent->tasks, now);
    loop_timer_cancel(agent->loop, &agent->certificates);
    uplink_free(agent->uplink);
    agent->uplink = NULL;
    loop_stop(agent->loop);
}

static void init_timers(struct agent *agent)
{
    agent->retry.handler = on_retry;
    agent->watchdog.handler = on_watchdog;
    agent->certificates.handler = on_certificates;
    agent->stopping.handler = on_stopping;
    agent->retry.context = agent->watchdog.context = agent;
    agent->certificates.context = agent->stopping.context = agent;
}

/* --- its life --------------------------------------------------------------------------------- */

static enum status new_uplink(struct agent *agent, struct uplink **out_uplink, struct fault *fault)
{
    const struct uplink_events events = agent_uplink_events(agent);
    const struct uplink_setup setup = {
        .config = &agent->config.controller,
        .context = agent->credentials.context,
        .events = &events,
    };

    return uplink_new(agent->loop, &setup, out_uplink, fault);
}

/* What may fail, in the order in which it is found out. */
static enum status build(struct agent *agent, struct fault *fault)
{
    const struct agent_config *config = &agent->config;
    enum status status = agent_config_load(agent->config_path, &agent->config, fault);

    if (status == STATUS_OK)
        status = credentials_open(&agent->credentials, &config->tls, loop_wall(agent->loop), fault);
    if (status == STATUS_OK)
        status = spool_open(config->spool.path, config->spool.max_bytes, &agent->spool, fault);
    if (status == STATUS_OK)
        status = new_uplink(agent, &agent->uplink, fault);
    return status;
}

enum status agent_new(struct loop *loop, const char *config_path, struct agent **out_agent,
                      struct fault *fault)
{
    struct agent *agent = memory_new(1, sizeof *agent);
    struct sessions_port port = agent_sessions_port(agent);
    enum status status;

    agent->loop = loop;
    agent->notify.fd = -1;
    agent->credentials.role = ROLE_AGENT;
    agent->credentials.notice_ns = NOTICE_NS;
    init_timers(agent);
    record_init(&agent_config_record, &agent->config);
    if (!text_copy(agent->config_path, sizeof agent->config_path, config_path))
        status = fault_set(fault, STATUS_TOO_LARGE, "%s: the path is too long", config_path);
    else
        status = build(agent, fault);
    if (status != STATUS_OK) {
        agent_free(agent);
        return status;
    }
    log_up_to((enum log_level)agent->config.log_level);
    agent->rules = rules_new(&agent->config);
    agent->tasks = tasks_new(loop, agent_task_says, agent);
    agent->sessions = sessions_new(agent->rules->admission, &port);
    agent_describe_self(agent);
    notify_init(&agent->notify);
    *out_agent = agent;
    return STATUS_OK;
}

void agent_start(struct agent *agent, struct mono now)
{
    const struct identity *identity = tls_context_identity(agent->credentials.context);

    log_line(LOG_LEVEL_INFO, "agent %s of %s: controller %s, spool %s", identity->name,
             identity->trust_domain, agent->config.controller.address, agent->config.spool.path);
    uplink_start(agent->uplink, now);
    on_certificates(agent, now);
    if (agent->notify.watchdog_ns > 0)
        on_watchdog(agent, now);
    notify_ready(&agent->notify, "started");
}

/* --- reading again ---------------------------------------------------------------------------- */

/* Another controller is another connection; the sessions of the old one are closed. */
static void change_controller(struct agent *agent, struct mono now)
{
    struct uplink *fresh;
    struct fault fault;

    if (new_uplink(agent, &fresh, &fault) != STATUS_OK) {
        log_line(LOG_LEVEL_ERROR, "the controller cannot be changed: %s", fault.text);
        return;
    }
    uplink_free(agent->uplink);
    agent->uplink = fresh;
    sessions_disconnected(agent->sessions, now);
    uplink_start(fresh, now);
}

static void change_rules(struct agent *agent)
{
    struct rules *fresh = rules_new(&agent->config);

    sessions_use(agent->sessions, fresh->admission);
    rules_drop(agent->rules);
    agent->rules = fresh;
}

static bool controller_equal(const struct controller_config *a, const struct controller_config *b)
{
    return strcmp(a->address, b->address) == 0 && strcmp(a->server_name, b->server_name) == 0;
}

/* The spool stays where it is until the next start: results are in it. */
static void take_config(struct agent *agent, struct agent_config *fresh, struct mono now)
{
    bool same_controller = controller_equal(&agent->config.controller, &fresh->controller);

    if (strcmp(agent->config.spool.path, fresh->spool.path) != 0 ||
        agent->config.spool.max_bytes != fresh->spool.max_bytes)
        log_line(LOG_LEVEL_WARNING, "%s: another spool is used from the next start on",
                 agent->config_path);
    record_done(&agent_config_record, &agent->config);
    agent->config = *fresh;
    log_up_to((enum log_level)agent->config.log_level);
    change_rules(agent);
    agent->credentials.fault[0] = '\0';
    agent_read_certificates(agent);
    if (!same_controller)
        change_controller(agent, now);
}

void agent_reload(struct agent *agent, struct mono now)
{
    struct agent_config fresh;
    struct fault fault;

    if (agent->is_stopping)
        return;
    notify_reloading(&agent->notify, now);
    if (agent_config_load(agent->config_path, &fresh, &fault) == STATUS_OK) {
        log_line(LOG_LEVEL_INFO, "%s: read anew", agent->config_path);
        take_config(agent, &fresh, now);
    } else {
        log_line(LOG_LEVEL_ERROR, "the old configuration stays: %s", fault.text);
        agent->credentials.fault[0] = '\0';
        agent_read_certificates(agent);
    }
    agent_settle(agent, now);
    notify_ready(&agent->notify, "files read anew");
}

/* --- its end ---------------------------------------------------------------------------------- */

void agent_stop(struct agent *agent, struct mono now)
{
    size_t left;

    if (agent->is_stopping) { /* asked twice */
        loop_timer_set(agent->loop, &agent->stopping, now);
        return;
    }
    agent->is_stopping = true;
    notify_stopping(&agent->notify);
    left = sessions_stop(agent->sessions);
    log_line(LOG_LEVEL_INFO, "stopping, %zu sessions are open", left);
    loop_timer_set(agent->loop, &agent->stopping, mono_after(now, left > 0 ? STOPPING_NS : 0));
}

void agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    loop_timer_cancel(agent->loop, &agent->retry);
    loop_timer_cancel(agent->loop, &agent->watchdog);
    loop_timer_cancel(agent->loop, &agent->certificates);
    if (agent->tasks != NULL)
        tasks_stop(agent->tasks, loop_now(agent->loop));
    loop_timer_cancel(agent->loop, &agent->stopping);
    tasks_free(agent->tasks);
    sessions_free(agent->sessions);
    uplink_free(agent->uplink);
    credentials_done(&agent->credentials);
    if (agent->spool != NULL)
        spool_close(agent->spool);
    rules_drop(agent->rules);
    record_done(&agent_config_record, &agent->config);
    notify_done(&agent->notify);
    free(agent);
}
