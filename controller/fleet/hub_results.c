/* Owns results on their way into the store, what must happen before they are acknowledged, and what
 * happens when the store cannot: nothing is acknowledged, nothing more is taken in than one batch
 * holds, and nobody is forgotten. What comes of a report is hub_join.c's. */
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

enum { COMMITTED_IDS = 5000 }; /* of one message; message_fields.c allows more */

/* --- in ------------------------------------------------------------------------------------- */

/* It stays in the agent's spool; once the store works again the connection is closed, so that the
 * agent sends everything again. */
static void turn_away(struct hub *hub, struct connection *agent)
{
    if (agent->turned_away)
        return;
    agent->turned_away = true;
    *(uint64_t *)list_append_sized(&hub->turned_away, sizeof agent->peer) = agent->peer;
}

static void drain(struct hub *hub, size_t jobs);

void hub_take_result(struct hub *hub, struct connection *agent, const struct message_result *result)
{
    struct wall wall = hub->port.wall(hub->port.context);
    enum status status;

    /* What comes behind one that was not taken would be stored before it. */
    if (agent->turned_away)
        return;
    status = store_add(hub->store, agent->name, result, wall);
    if (status == STATUS_AGAIN) {
        hub->commit_at = hub->now;
        drain(hub, SIZE_MAX);
        status = store_add(hub->store, agent->name, result, wall);
    }
    if (status != STATUS_OK)
        turn_away(hub, agent);
    else if (hub->commit_at.ns == INT64_MAX)
        hub->commit_at = mono_after(hub->now, HUB_COMMIT_NS);
}

/* --- commits -------------------------------------------------------------------------------- */

static int by_case(const void *a, const void *b)
{
    const struct store_id *x = *(const struct store_id *const *)a;
    const struct store_id *y = *(const struct store_id *const *)b;
    int runs = strcmp(x->run, y->run);

    return runs != 0 ? runs : (x->index > y->index) - (x->index < y->index);
}

static void note_unreadable(struct hub *hub, const struct store_id *id)
{
    struct connection *agent = hub_connection(hub, fleet_peer(hub->fleet, id->agent));

    if (agent == NULL || agent->unreadable)
        return;
    agent->unreadable = true;
    log_line(LOG_LEVEL_WARNING,
             "agent %s: report %s cannot be read; it is kept as it is, and so are others like it",
             id->agent, id->id);
}

/* Both reports of a case are often in one batch: one job for both. A report that was there already
 * may have been committed by a controller that was killed before it joined. */
static void add_joins(struct hub *hub, const struct list *ids)
{
    const struct store_id **reports = memory_new(ids->count, sizeof *reports);
    size_t count = 0;

    for (size_t i = 0; i < ids->count; i++) {
        const struct store_id *id = (const struct store_id *)ids->items + i;

        if (!work_is_report(id->kind))
            continue;
        if (id->run[0] == '\0')
            note_unreadable(hub, id);
        else
            reports[count++] = id;
    }
    if (count > 0)
        qsort(reports, count, sizeof *reports, by_case);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_case(&reports[i - 1], &reports[i]) != 0)
            hub_add_job(hub, reports[i]->run, reports[i]->index, "");
    }
    free(reports);
}

static bool commit(struct hub *hub)
{
    struct fault fault = { "" };
    enum status status;

    if (store_pending(hub->store) > 0) {
        status = store_commit(hub->store, &hub->acks, &fault);
        if (status != STATUS_OK) {
            /* Whatever the reason, the batch is still there. */
            if (!hub_trouble(hub, status, "results are not committed", &fault))
                hub->retry_at = mono_after(hub->now, HUB_RETRY_NS);
            return false;
        }
        hub->results += (int64_t)hub->acks.count;
        if (hub->acks.count > 0)
            add_joins(hub, &hub->acks);
    }
    hub->commit_at.ns = INT64_MAX;
    if (hub->trouble)
        log_line(LOG_LEVEL_INFO, "store: works again");
    hub->trouble = false;
    return true;
}

/* --- acknowledgements ----------------------------------------------------------------------- */

/* By agent; those of one agent in the order of their coming. */
static int by_agent(const void *a, const void *b)
{
    const struct store_id *x = *(const struct store_id *const *)a;
    const struct store_id *y = *(const struct store_id *const *)b;
    int agents = strcmp(x->agent, y->agent);

    return agents != 0 ? agents : (x > y) - (x < y);
}

/* `count` ids of one agent. */
static void tell_agent(struct hub *hub, const struct store_id *const *ids, size_t count)
{
    uint64_t peer = fleet_peer(hub->fleet, ids[0]->agent);
    struct message_committed committed;
    const char **words;

    if (peer == 0)
        return; /* it sends them again when it is back, which changes nothing */
    words = memory_new(count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = ids[i]->id;
    message_init(&committed, MESSAGE_COMMITTED);
    committed.ids = (struct list){ .items = words, .count = count };
    hub_send(hub, peer, &committed);
    free(words);
}

static void tell_agents(struct hub *hub)
{
    size_t count = hub->acks.count, from = 0;
    const struct store_id **ids = memory_new(count, sizeof *ids);

    for (size_t i = 0; i < count; i++)
        ids[i] = (const struct store_id *)hub->acks.items + i;
    qsort(ids, count, sizeof *ids, by_agent);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && i - from < COMMITTED_IDS && strcmp(ids[i]->agent, ids[from]->agent) == 0)
            continue;
        tell_agent(hub, ids + from, i - from);
        from = i;
    }
    free(ids);
    store_ids_done(&hub->acks);
}

/* The store works: whoever was turned away may come again. */
static void call_back(struct hub *hub)
{
    const uint64_t *peers = hub->turned_away.items;

    for (size_t i = 0; i < hub->turned_away.count; i++) {
        if (hub_connection(hub, peers[i]) != NULL)
            hub->port.close(hub->port.context, peers[i],
                            "results could not be stored for a while: send them again");
    }
    free(hub->turned_away.items);
    hub->turned_away = (struct list){ 0 };
}

static void drain(struct hub *hub, size_t jobs)
{
    /* A case is joined before its reports are acknowledged: whoever is killed in between is sent
     * them again. */
    if (hub->retry_at.ns != INT64_MAX || !hub_do_jobs(hub, jobs))
        return;
    if (hub->jobs == NULL && hub->acks.count == 0 && mono_between(hub->commit_at, hub->now) >= 0 &&
        (!commit(hub) || !hub_do_jobs(hub, jobs)))
        return;
    if (hub->jobs != NULL)
        return;
    if (hub->acks.count > 0)
        tell_agents(hub);
    if (hub->turned_away.count > 0 && !hub->trouble)
        call_back(hub);
}

void hub_work_results(struct hub *hub)
{
    drain(hub, HUB_JOBS_AT_ONCE);
}
