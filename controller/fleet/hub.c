/* Owns connections and the order of work: every event comes in here, is handled by the part of its
 * role, and what follows from it (commits, starts, ends) is done before the call returns. Knows no
 * socket and no clock. */
#include "controller/fleet/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

#define RETAIN_PAUSE_NS (60 * NS_PER_S)
#define RATE_NS         (5 * NS_PER_S)

struct connection *hub_connection(const struct hub *hub, uint64_t peer)
{
    return peermap_get(&hub->connections, peer);
}

void hub_send(struct hub *hub, uint64_t peer, const void *message)
{
    /* What cannot be sent is followed by the connection's end. */
    if (peer != 0)
        (void)hub->port.send(hub->port.context, peer, message);
}

bool hub_trouble(struct hub *hub, enum status status, const char *what, const struct fault *fault)
{
    const char *why = fault->text[0] != '\0' ? fault->text : status_text(status);
    bool for_good = status == STATUS_NOT_FOUND || status == STATUS_INVALID ||
                    status == STATUS_RANGE || status == STATUS_TOO_LARGE ||
                    status == STATUS_CORRUPT;

    if (for_good) {
        log_line(LOG_LEVEL_ERROR, "store: %s: %s", what, why);
        return false;
    }
    if (!hub->trouble)
        log_line(LOG_LEVEL_ERROR, "store: %s: %s; it is tried again, and agents keep their results",
                 what, why);
    hub->trouble = true;
    hub->retry_at = mono_after(hub->now, HUB_RETRY_NS);
    return true;
}

/* --- what follows --------------------------------------------------------------------------- */

static void remember_agents(struct hub *hub)
{
    struct agent_row row;
    struct fault fault = { "" };

    for (int i = 0; i < HUB_JOBS_AT_ONCE && fleet_changed(hub->fleet, hub->now, &row); i++) {
        /* One that is not remembered is known again at its next hello. */
        if (store_agent(hub->store, &row, hub->port.wall(hub->port.context), &fault) != STATUS_OK)
            log_line(LOG_LEVEL_DEBUG, "store: agent %s is not remembered: %s", row.name,
                     fault.text);
        record_done(&agent_row_record, &row);
    }
}

static void bury(struct hub *hub, struct connection *connection)
{
    const char *name = fleet_lost(hub->fleet, connection->peer, hub->now);

    log_line(name != NULL && !connection->refused ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
             "%s %s (%s): gone: %s", role_names[connection->role], connection->name,
             connection->address, connection->reason);
    if (name != NULL)
        hub_agent_away(hub, name, connection->reason);
    for (size_t i = 0; i < hub->run_count; i++) {
        for (size_t k = 0; k < 2; k++) {
            if (hub->runs[i]->watchers[k] == connection->peer)
                hub->runs[i]->watchers[k] = 0;
        }
    }
    hub_drop_answers(hub, connection);
    free(connection);
}

static void bury_all(struct hub *hub)
{
    while (hub->buried != NULL) {
        struct connection *connection = hub->buried;

        hub->buried = connection->buried;
        bury(hub, connection);
    }
}

static void enter(struct hub *hub, struct mono now)
{
    hub->depth++;
    hub->now = now;
}

/* A port's function may have called back: what it told is dealt with by the outermost call. */
static void leave(struct hub *hub)
{
    if (hub->depth == 1) {
        bury_all(hub);
        hub_work_runs(hub);
        bury_all(hub);
    }
    hub->depth--;
}

/* --- life ----------------------------------------------------------------------------------- */

static void remember(void *context, const struct agent_row *row, int64_t ago_ns)
{
    struct hub *hub = context;
    struct agent_row known = *row;

    known.last_seen_s = (double)ago_ns / (double)NS_PER_S;
    fleet_remember(hub->fleet, &known, hub->now);
}

enum status hub_new(const struct hub_setup *setup, struct mono now, struct hub **out_hub,
                    struct fault *fault)
{
    const struct hub_port *port = setup->port;
    struct hub *hub = memory_new(1, sizeof *hub);
    struct wall wall = port->wall(port->context);
    enum status status;

    hub->rules = *setup->rules;
    hub->port = *port;
    hub->store = setup->store;
    hub->fleet = fleet_new();
    hub->now = hub->rate_from = now;
    hub->jobs_end = &hub->jobs;
    hub->commit_at.ns = hub->retry_at.ns = hub->retain_at.ns = INT64_MAX;
    if (hub->rules.keep_s > 0)
        hub->retain_at = now;
    port->random(port->context, &hub->next_ssid, sizeof hub->next_ssid);
    status = store_end_orphans(hub->store, "the controller was restarted", wall, fault);
    if (status == STATUS_OK)
        status = store_agents(hub->store, wall, remember, hub, fault);
    if (status != STATUS_OK) {
        hub_free(hub);
        return status;
    }
    *out_hub = hub;
    return STATUS_OK;
}

void hub_set_rules(struct hub *hub, const struct hub_rules *rules, struct mono now)
{
    hub->rules = *rules;
    hub->retain_at.ns = rules->keep_s > 0 ? now.ns : INT64_MAX;
}

void hub_free(struct hub *hub)
{
    struct connection *connection;
    size_t cursor = 0;

    if (hub == NULL)
        return;
    bury_all(hub);
    while ((connection = peermap_next(&hub->connections, &cursor)) != NULL) {
        hub_drop_answers(hub, connection);
        free(connection);
    }
    peermap_done(&hub->connections);
    hub_free_runs(hub);
    while (hub->jobs != NULL) {
        struct case_job *job = hub->jobs;

        hub->jobs = job->next;
        free(job);
    }
    store_ids_done(&hub->acks);
    free(hub->turned_away.items);
    fleet_free(hub->fleet);
    free(hub);
}

/* --- events --------------------------------------------------------------------------------- */

void hub_up(struct hub *hub, uint64_t peer, const struct identity *identity, const char *address,
            struct mono now)
{
    struct connection *connection = memory_new(1, sizeof *connection);

    enter(hub, now);
    connection->peer = peer;
    connection->role = identity->role;
    text_copy(connection->name, sizeof connection->name, identity->name);
    text_copy(connection->address, sizeof connection->address, address);
    peermap_put(&hub->connections, peer, connection);
    leave(hub);
}

void hub_frame(struct hub *hub, uint64_t peer, const void *bytes, size_t length, struct mono now)
{
    struct connection *connection = hub_connection(hub, peer);

    if (connection == NULL)
        return;
    enter(hub, now);
    if (connection->role == ROLE_AGENT)
        hub_agent_frame(hub, connection, bytes, length);
    else
        hub_operator_frame(hub, connection, bytes, length);
    leave(hub);
}

void hub_down(struct hub *hub, uint64_t peer, const char *reason, struct mono now)
{
    struct connection *connection = peermap_remove(&hub->connections, peer);

    if (connection == NULL)
        return;
    text_copy(connection->reason, sizeof connection->reason, reason);
    connection->buried = hub->buried;
    hub->buried = connection;
    enter(hub, now);
    leave(hub);
}

static void retain(struct hub *hub)
{
    struct wall until = hub->port.wall(hub->port.context);
    struct fault fault = { "" };
    int64_t count = 0;
    enum status status;

    until.ns -= (int64_t)(hub->rules.keep_s * (double)NS_PER_S);
    status = store_retain(hub->store, until, &count, &fault);
    if (status != STATUS_OK)
        log_line(LOG_LEVEL_WARNING, "store: what is older than %.0f s stays for now: %s",
                 hub->rules.keep_s, fault.text);
    hub->retain_at =
        mono_after(hub->now, status == STATUS_OK && count > 0 ? 10 * HUB_SOON_NS : RETAIN_PAUSE_NS);
}

static void measure_rate(struct hub *hub)
{
    int64_t passed = mono_between(hub->rate_from, hub->now);

    if (passed < RATE_NS)
        return;
    hub->rate = (double)hub->results * (double)NS_PER_S / (double)passed;
    hub->results = 0;
    hub->rate_from = hub->now;
}

void hub_tick(struct hub *hub, struct mono now)
{
    enter(hub, now);
    if (mono_between(hub->retry_at, now) >= 0)
        hub->retry_at.ns = INT64_MAX;
    hub_work_results(hub);
    hub_tick_runs(hub);
    hub_work_answers(hub);
    remember_agents(hub);
    if (mono_between(hub->retain_at, now) >= 0)
        retain(hub);
    measure_rate(hub);
    leave(hub);
}

static void sooner(struct mono *deadline, struct mono at)
{
    if (at.ns < deadline->ns)
        *deadline = at;
}

struct mono hub_deadline(const struct hub *hub)
{
    struct mono deadline = hub_runs_deadline(hub);
    struct mono soon = mono_after(hub->now, HUB_SOON_NS);

    sooner(&deadline, hub->retain_at);
    if (hub->retry_at.ns != INT64_MAX)
        sooner(&deadline, hub->retry_at);
    else if (hub->jobs != NULL)
        sooner(&deadline, soon);
    else
        sooner(&deadline, hub->commit_at);
    if (hub->reading != NULL || fleet_unsaved(hub->fleet))
        sooner(&deadline, soon);
    if (hub->results > 0 || hub->rate > 0)
        sooner(&deadline, mono_after(hub->rate_from, RATE_NS));
    return deadline;
}

bool hub_stop(struct hub *hub, struct mono now)
{
    static const char reason[] = "the controller is being stopped";
    bool over;

    enter(hub, now);
    hub->stopping = true;
    for (size_t i = 0; i < hub->run_count; i++)
        hub_stop_run(hub, hub->runs[i], reason);
    if (store_pending(hub->store) > 0 && hub->retry_at.ns == INT64_MAX)
        hub->commit_at = now;
    hub_work_results(hub);
    leave(hub);
    over = hub->run_count == 0 && store_pending(hub->store) == 0 && hub->jobs == NULL;
    return over;
}

void hub_describe(const struct hub *hub, char *out_text, size_t size)
{
    size_t agents = fleet_connected(hub->fleet);

    snprintf(out_text, size, "%zu agent%s, %zu run%s, %.0f results/s", agents,
             agents == 1 ? "" : "s", hub->run_count, hub->run_count == 1 ? "" : "s", hub->rate);
}
