/* Owns the simulated path. Must not know how the search decides. */
#include "tests/agent/probe/search_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/memory.h"

struct path *path_new(struct chance *chance, int64_t mtu)
{
    struct path *path = memory_new(1, sizeof *path);

    path->chance = chance;
    path->mtu = mtu;
    path->forged = -1;
    path->rtt_ns = NS_PER_MS;
    path->now = (struct mono){ 1000 * NS_PER_S };
    return path;
}

static bool happens(struct path *path, double chance)
{
    return (double)(chance_next(path->chance) >> 11) * 0x1p-53 < chance;
}

static void plan(struct path *path, uint32_t id, int64_t delay_ns, int64_t ptb)
{
    if (path->jitter_ns > 0)
        delay_ns += (int64_t)chance_below(path->chance, (uint64_t)path->jitter_ns);
    assert_true(path->count < PATH_EVENTS);
    path->events[path->count++] =
        (struct path_event){ .at = mono_after(path->now, delay_ns), .id = id, .ptb = ptb };
}

static bool is_out(const struct path *path)
{
    return path->outage_ns > 0 && path->now.ns % path->outage_every_ns < path->outage_ns;
}

static void transmit(struct path *path, struct search *search, const struct search_ask *ask)
{
    path->sent++;
    if ((path->local > 0 && ask->size > path->local) || happens(path, path->soft_errors)) {
        search_too_big(search, ask->id, path->local_limit_known ? path->local : 0);
        return;
    }
    if (path->unsent) {
        search_unsent(search, ask->id);
        return;
    }
    if (path->forged >= 0)
        plan(path, ask->id, path->rtt_ns / 2, path->forged);
    if (path->dead || is_out(path) || happens(path, path->loss))
        return;
    if (ask->size > path->mtu) {
        if (path->icmp)
            plan(path, ask->id, path->rtt_ns / 2, path->mtu);
        return;
    }
    if (path->lossy_above > 0 && ask->size > path->lossy_above && happens(path, path->loss_above))
        return;
    if (!ask->control && path->lost_of_size[ask->size]++ < path->lost_first)
        return;
    if (happens(path, path->ack_loss) ||
        (path->no_answer_above > 0 && ask->size > path->no_answer_above))
        return;
    plan(path, ask->id, path->rtt_ns, -1);
    if (happens(path, path->duplicates))
        plan(path, ask->id, path->rtt_ns, -1);
}

/* The earliest event; PATH_EVENTS: none. */
static size_t earliest(const struct path *path)
{
    size_t best = PATH_EVENTS;

    for (size_t i = 0; i < path->count; i++)
        if (best == PATH_EVENTS || mono_between(path->events[i].at, path->events[best].at) > 0)
            best = i;
    return best;
}

static void deliver(struct path *path, struct search *search, size_t at)
{
    struct path_event event = path->events[at];

    path->events[at] = path->events[--path->count];
    if (event.ptb < 0)
        search_acked(search, event.id, path->now);
    else
        path->judged[search_ptb(search, event.id, event.ptb)]++;
}

void path_run(struct path *path, struct search *search, struct mono until)
{
    struct search_ask ask;
    size_t at;
    struct mono next;

    for (int idle = 0; idle < 100;) {
        while (search_next(search, path->now, &ask) == STATUS_OK)
            transmit(path, search, &ask);
        if (search_state(search) == SEARCH_ENDED)
            return;
        next = search_deadline(search);
        at = earliest(path);
        if (at < PATH_EVENTS && mono_between(path->events[at].at, next) > 0)
            next = path->events[at].at;
        else
            at = PATH_EVENTS;
        if (mono_between(until, next) > 0) {
            path->now = until;
            return;
        }
        idle = mono_between(path->now, next) > 0 ? 0 : idle + 1;
        if (mono_between(path->now, next) > 0)
            path->now = next;
        if (at < PATH_EVENTS)
            deliver(path, search, at);
    }
    fail_msg("the machine asks to be called again and again, in state %s",
             search_state_name(search_state(search)));
}

struct search_result path_search(struct path *path, const struct search_config *config,
                                 double seconds)
{
    struct search_config own = *config;
    struct search *search;
    struct search_result result;
    int64_t sent = path->sent;

    own.seed = chance_next(path->chance);
    search = search_new(&own, path->now);
    path_run(path, search, mono_after(path->now, (int64_t)(seconds * 1e9)));
    search_result(search, &result);
    assert_int_equal(search_state(search), SEARCH_ENDED);
    assert_int_equal(result.datagrams, path->sent - sent);
    search_free(search);
    return result;
}
