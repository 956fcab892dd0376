/* Owns runs: their queue, what each measure may do to the world, and their end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

enum { SSID_RUNS = 65532 / 4 };

/* --- what comes of reports ------------------------------------------------------------------ */

void hub_case_joined(struct hub *hub, const char *run, int64_t index)
{
    struct hub_run *of = hub_find_run(hub, run);

    if (of != NULL && of->measure != NULL)
        measure_joined(of->measure, index, hub->now);
}

void hub_case_reported(struct hub *hub, const char *run, enum end_role role, int64_t index)
{
    struct hub_run *of = hub_find_run(hub, run);

    if (of != NULL && of->state == HUB_RUN_MEASURES)
        measure_reported(of->measure, role, index, hub->now);
}

/* --- the world of a measure ----------------------------------------------------------------- */

static bool port_send(void *context, enum end_role role, const void *message)
{
    const struct hub_run *run = context;
    const struct hub *hub = run->hub;
    const char *name = role == END_SENDER ? run->entry.from : run->entry.to;
    uint64_t peer = fleet_peer(hub->fleet, name);

    return peer != 0 && hub->port.send(hub->port.context, peer, message) == STATUS_OK;
}

static void port_random(void *context, void *out_bytes, size_t length)
{
    const struct hub_run *run = context;

    run->hub->port.random(run->hub->port.context, out_bytes, length);
}

static uint16_t port_ssid(void *context)
{
    const struct hub_run *run = context;
    uint16_t place = (uint16_t)(run->hub->next_ssid % SSID_RUNS);

    run->hub->next_ssid = (uint16_t)(place + 1);
    return (uint16_t)(1 + 4 * place);
}

static void port_progress(void *context, const struct message_run_progress *progress)
{
    hub_tell_progress(context, progress);
}

static void port_moved(void *context, const struct message_run_moved *moved)
{
    hub_tell_moved(context, moved);
}

static void port_failed(void *context, int64_t index, const char *reason)
{
    const struct hub_run *run = context;

    log_line(LOG_LEVEL_WARNING, "run %s: case %lld: %s", run->entry.run, (long long)index, reason);
    hub_add_job(run->hub, run->entry.run, index, reason);
}

static void end_run(struct hub_run *run, enum run_outcome outcome, const char *reason)
{
    run->state = HUB_RUN_ENDS;
    run->entry.outcome = outcome;
    text_copy(run->entry.reason, sizeof run->entry.reason, reason);
    fleet_release(run->hub->fleet, run->entry.run);
    run->hub->runs_changed = true;
}

static void port_over(void *context, enum run_outcome outcome, const char *reason)
{
    end_run(context, outcome, reason);
}

/* --- the queue ------------------------------------------------------------------------------ */

static bool share_a_host(const struct run_entry *a, const struct run_entry *b)
{
    return strcmp(a->from, b->from) == 0 || strcmp(a->from, b->to) == 0 ||
           strcmp(a->to, b->from) == 0 || strcmp(a->to, b->to) == 0;
}

/* Holds the hosts of run `place`. False when another one is first: *out_holder is that. */
static bool hold(struct hub *hub, size_t place, const char **out_holder)
{
    struct hub_run *run = hub->runs[place];
    const struct fleet_claim claim = { .from = run->entry.from,
                                       .to = run->entry.to,
                                       .run = run->entry.run,
                                       .exclusive = work_is_exclusive(&run->entry.work) };

    if (run->held)
        return true;
    for (size_t i = 0; i < place; i++) {
        const struct hub_run *earlier = hub->runs[i];

        if (earlier->state != HUB_RUN_WAITS || !share_a_host(&earlier->entry, &run->entry))
            continue;
        *out_holder = earlier->entry.run;
        return false;
    }
    run->held = fleet_hold(hub->fleet, &claim, out_holder);
    return run->held;
}

static void start(struct hub_run *run)
{
    static const struct measure_port port = { .send = port_send,
                                              .random = port_random,
                                              .ssid = port_ssid,
                                              .progress = port_progress,
                                              .moved = port_moved,
                                              .failed = port_failed,
                                              .over = port_over };
    const struct hub *hub = run->hub;
    struct measure_port own = port;
    const struct run_entry *entry = &run->entry;
    struct measure_order order = { .addresses = run->addresses, .work = &entry->work };
    const char *address = run->addresses.of[work_family(&entry->work, 0)];
    size_t count = work_count(&entry->work);

    own.context = run;
    text_copy(order.run, sizeof order.run, entry->run);
    run->state = HUB_RUN_MEASURES;
    run->measure = measure_new(&order, &own, hub->now, hub->port.wall(hub->port.context));
    log_line(LOG_LEVEL_INFO, "run %s: from %s to %s (%s), %zu %s, for %s", entry->run, entry->from,
             entry->to, address, count,
             entry->work.kind == WORK_CASES ? "cases" : "sessions of path MTU",
             entry->operator_name);
    measure_start(run->measure, hub->now);
}

static void free_run(struct hub_run *run)
{
    measure_free(run->measure);
    record_done(&run_entry_record, &run->entry);
    free(run->told);
    free(run);
}

/* False when the store cannot take it now. */
static bool finish(struct hub *hub, struct hub_run *run)
{
    const struct run_end end = { .run = run->entry.run,
                                 .reason = run->entry.reason,
                                 .outcome = run->entry.outcome,
                                 .now = hub->port.wall(hub->port.context) };
    struct message_run_done done;
    struct fault fault = { "" };
    enum status status = store_run_end(hub->store, &end, &fault);

    if (status != STATUS_OK && hub_trouble(hub, status, "a run's end is not stored", &fault))
        return false;
    log_line(LOG_LEVEL_INFO, "run %s: %s%s%s", end.run, run_outcome_names[end.outcome],
             end.reason[0] == '\0' ? "" : ": ", end.reason);
    message_init(&done, MESSAGE_RUN_DONE);
    text_copy(done.run, sizeof done.run, end.run);
    text_copy(done.reason, sizeof done.reason, end.reason);
    done.outcome = end.outcome;
    hub_tell(run, &done);
    return true;
}

/* Its cases' rows are there before it is called done. */
static void finish_runs(struct hub *hub)
{
    size_t kept = 0;

    for (size_t i = 0; i < hub->run_count; i++) {
        struct hub_run *run = hub->runs[i];

        if (run->state == HUB_RUN_ENDS && hub->jobs == NULL && hub->retry_at.ns == INT64_MAX &&
            finish(hub, run))
            free_run(run);
        else
            hub->runs[kept++] = run;
    }
    hub->run_count = kept;
}

void hub_work_runs(struct hub *hub)
{
    const char *holder;

    while (hub->runs_changed) {
        hub->runs_changed = false;
        finish_runs(hub);
        for (size_t i = 0; i < hub->run_count; i++) {
            if (hub->runs[i]->state == HUB_RUN_WAITS && hold(hub, i, &holder))
                start(hub->runs[i]);
        }
    }
}

/* --- coming and going ----------------------------------------------------------------------- */

struct hub_run *hub_find_run(const struct hub *hub, const char *run)
{
    for (size_t i = 0; i < hub->run_count; i++) {
        if (strcmp(hub->runs[i]->entry.run, run) == 0)
            return hub->runs[i];
    }
    return NULL;
}

static void fill_entry(const struct hub *hub, struct message_run *order, const char *operator_name,
                       struct run_entry *out_entry)
{
    struct wall wall = hub->port.wall(hub->port.context);
    uint8_t random[10];

    record_init(&run_entry_record, out_entry);
    hub->port.random(hub->port.context, random, sizeof random);
    uuid7_format(wall.ns / NS_PER_MS, random, out_entry->run);
    text_copy(out_entry->from, sizeof out_entry->from, order->from);
    text_copy(out_entry->to, sizeof out_entry->to, order->to);
    text_copy(out_entry->operator_name, sizeof out_entry->operator_name, operator_name);
    wall_format(wall, out_entry->started);
    work_take(order, &out_entry->work);
    out_entry->command = order->command;
    order->command = (struct list){ 0 };
}

enum status hub_add_run(struct hub *hub, struct message_run *order,
                        const struct measure_addresses *addresses, const struct connection *by,
                        struct fault *fault)
{
    struct hub_run *run = memory_new(1, sizeof *run);
    enum status status;

    run->hub = hub;
    fill_entry(hub, order, by->name, &run->entry);
    status = store_run_begin(hub->store, &run->entry, fault);
    if (status != STATUS_OK) {
        free_run(run);
        return status;
    }
    run->addresses = *addresses;
    run->watchers[0] = by->peer;
    run->told = memory_new(work_rows(&run->entry.work), sizeof *run->told);
    hub->runs = realloc(hub->runs, (hub->run_count + 1) * sizeof(struct hub_run *));
    if (hub->runs == NULL)
        abort();
    hub->runs[hub->run_count++] = run;
    hub->runs_changed = true;
    return STATUS_OK;
}

const char *hub_waits_for(struct hub *hub)
{
    const char *holder = "";

    assert(hub->run_count > 0);
    return hold(hub, hub->run_count - 1, &holder) ? "" : holder;
}

void hub_stop_run(struct hub *hub, struct hub_run *run, const char *reason)
{
    if (run->state == HUB_RUN_WAITS)
        end_run(run, RUN_STOPPED, reason);
    else if (run->state == HUB_RUN_MEASURES)
        measure_stop(run->measure, reason, hub->now);
}

/* --- agents --------------------------------------------------------------------------------- */

/* Which end of the run this agent is; END_COUNT: none. */
static enum end_role role_of(const struct hub_run *run, const char *name)
{
    if (run->state != HUB_RUN_MEASURES)
        return END_COUNT;
    if (strcmp(run->entry.from, name) == 0)
        return END_SENDER;
    return strcmp(run->entry.to, name) == 0 ? END_ECHO : END_COUNT;
}

void hub_agent_message(struct hub *hub, const struct connection *agent,
                       const union message *message)
{
    /* Another connection may have taken over; a session does not outlive its own. */
    if (fleet_peer(hub->fleet, agent->name) != agent->peer)
        return;
    for (size_t i = 0; i < hub->run_count; i++) {
        enum end_role role = role_of(hub->runs[i], agent->name);

        if (role != END_COUNT)
            measure_message(hub->runs[i]->measure, role, message, hub->now);
    }
}

void hub_agent_away(struct hub *hub, const char *name, const char *reason)
{
    for (size_t i = 0; i < hub->run_count; i++) {
        enum end_role role = role_of(hub->runs[i], name);

        if (role != END_COUNT)
            measure_away(hub->runs[i]->measure, role, reason, hub->now);
    }
}

/* --- time ----------------------------------------------------------------------------------- */

void hub_tick_runs(struct hub *hub)
{
    for (size_t i = 0; i < hub->run_count; i++) {
        if (hub->runs[i]->state == HUB_RUN_MEASURES)
            measure_tick(hub->runs[i]->measure, hub->now);
        if (hub->runs[i]->state == HUB_RUN_ENDS)
            hub->runs_changed = true;
    }
}

struct mono hub_runs_deadline(const struct hub *hub)
{
    struct mono deadline = { INT64_MAX };

    for (size_t i = 0; i < hub->run_count; i++) {
        const struct hub_run *run = hub->runs[i];
        struct mono at = { INT64_MAX };

        if (run->state == HUB_RUN_MEASURES)
            at = measure_deadline(run->measure);
        else if (run->state == HUB_RUN_ENDS && hub->retry_at.ns == INT64_MAX)
            at = mono_after(hub->now, HUB_SOON_NS);
        if (at.ns < deadline.ns)
            deadline = at;
    }
    return deadline;
}

void hub_free_runs(struct hub *hub)
{
    for (size_t i = 0; i < hub->run_count; i++)
        free_run(hub->runs[i]);
    free(hub->runs);
    hub->runs = NULL;
    hub->run_count = 0;
}
