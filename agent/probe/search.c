/* Owns the course of a search: what an event means in each state, and when the next round begins.
 * Must not know sockets, clocks, or which sizes a round asks (search_plan).
 */
#include "agent/probe/search_machine.h"

#include <assert.h>
#include <stdlib.h>

#include "agent/probe/lots.h"
#include "proto/base/memory.h"

#define ROUND_LAG_NS (4 * NS_PER_MS) /* at most, drawn by lot */

enum { HELLOS_AT_ONCE = 2, CONFIRM_ACKS = 2 };

static const int32_t no_rank = -2;

/* A quarter more or less, so that no period of the path's keeps step with the machine (RFC 2330
 * section 11.1). */
static int64_t spread(struct search *search, int64_t ns)
{
    return ns / 1024 * (768 + (int64_t)lots_draw(&search->lots, 512));
}

/* --- rounds ------------------------------------------------------------------------------- */

struct search_round *search_round_begin(struct search *search, struct mono now)
{
    search->round.count = search->round.next = 0;
    search->round_from = search->flight.next;
    search->heard = search->hurry = search->paused = false;
    search->counts.rounds++;
    search->next_send = mono_after(
        mono_between(search->next_send, now) > 0 ? now : search->next_send,
        search->state == SEARCH_HELLO ? 0 : (int64_t)lots_draw(&search->lots, ROUND_LAG_NS));
    return &search->round;
}

bool search_round_over(struct search *search, struct mono now)
{
    int64_t pause;

    if (search->hurry)
        return true;
    if (search->round.next < search->round.count ||
        search_flight_out(&search->flight, search->round_from))
        return false;
    if (!search->heard && !search->paused) {
        pause = search_timer_wait(&search->timer) << (search->silent < 8 ? search->silent : 8);
        search->next_round =
            mono_after(now, spread(search, pause < SEARCH_SILENCE_NS ? pause : SEARCH_SILENCE_NS));
        search->paused = true;
        search->silent++;
    }
    return !search->paused || mono_between(search->next_round, now) >= 0;
}

bool search_is_dead(const struct search *search, struct mono now)
{
    return search->controls_lost_in_row >= SEARCH_DEAD_TRIES &&
           search->silent >= SEARCH_DEAD_ROUNDS &&
           mono_between(search->last_heard, now) >= SEARCH_DEAD_NS;
}

/* --- states ------------------------------------------------------------------------------- */

void search_change_state(struct search *search, enum search_state state)
{
    search->state = state;
    search->round.count = search->round.next = 0;
    search->hurry = search->moved = true;
}

/* The path has changed under a search, or a new one begins: nothing is known any more. */
static void forget(struct search *search)
{
    search_table_reset(&search->table);
    search->first_id = search->flight.next;
    search->confirm_rank = no_rank;
    search_change_state(search, SEARCH_NARROWING);
}

static void start(struct search *search)
{
    search->counts.outcome = SEARCH_UNDECIDED;
    search->restarts = 0;
    search->hint_count = 0;
    search->silent = 0;
    forget(search);
}

void search_begin(struct search *search)
{
    search->counts = (struct search_result){ .outcome = SEARCH_UNDECIDED };
    start(search);
}

void search_begin_hello(struct search *search, struct mono when)
{
    search->counts = (struct search_result){ .outcome = search->counts.outcome };
    search->heard = false;
    search->hellos = 0;
    search->next_hello = when;
    search_change_state(search, SEARCH_HELLO);
}

static void end(struct search *search, enum search_outcome outcome, struct mono now)
{
    search->counts.outcome = outcome;
    if (!search->config.watch) {
        search_change_state(search, SEARCH_ENDED);
        return;
    }
    if (outcome == SEARCH_FOUND || outcome == SEARCH_BELOW_FLOOR)
        search_watch_begin(search, now);
    else if (outcome == SEARCH_UNREACHABLE)
        search_watch_dead(search, now);
    else
        search_begin_hello(search, mono_after(now, search->config.check_ns));
}

static void step_hello(struct search *search, struct mono now)
{
    int64_t wait = search->reachable || !search->told ? SEARCH_HELLO_NS : search->config.check_ns;

    if (search->heard && search->hellos > 0) {
        start(search);
        if (search->config.guess > 0)
            search->table.hint = search_scale_rank(&search->table.scale, search->config.guess) + 1;
        return;
    }
    if (mono_between(search->next_hello, now) < 0)
        return;
    if (search->hellos == SEARCH_DEAD_TRIES && !(search->told && !search->reachable)) {
        end(search, SEARCH_UNREACHABLE, now);
        return;
    }
    search_plan_hello(search_round_begin(search, now));
    search->hellos += search->hellos < SEARCH_DEAD_TRIES;
    if (search->hellos == SEARCH_DEAD_TRIES && wait < NS_PER_S)
        wait = NS_PER_S; /* the last one has the time of any */
    search->next_hello =
        search->hellos < HELLOS_AT_ONCE ? now : mono_after(now, spread(search, wait));
}

/* Both bounds are next to each other and proven, and lo answered after they were. */
static bool is_proven(struct search *search)
{
    struct search_table *table = &search->table;
    const struct search_record *record = search_table_find(table, table->lo);

    if (table->lo + 1 != table->hi)
        return false;
    if (table->lo < 0)
        return true;
    return record != NULL && record->acks >= CONFIRM_ACKS &&
           record->last_ack - search->confirm_from < UINT32_MAX / 2;
}

/* Draws the conclusions; true when the search is over or begins anew. */
static bool conclude(struct search *search, struct mono now)
{
    struct search_table *table = &search->table;
    const struct search_record *record = search_table_find(table, table->lo);

    search_table_judge(table);
    if (record != NULL && table->lo >= 0 && search_table_proven(table, record)) {
        if (search->restarts++ < SEARCH_RESTARTS)
            forget(search);
        else
            end(search, SEARCH_UNSTABLE, now);
    } else if (search->confirm_rank == table->lo && is_proven(search)) {
        end(search, table->lo < 0 ? SEARCH_BELOW_FLOOR : SEARCH_FOUND, now);
    } else if (search_is_dead(search, now)) {
        end(search, SEARCH_UNREACHABLE, now);
    } else if (search->counts.datagrams >= search->config.budget) {
        end(search, SEARCH_EXHAUSTED, now);
    } else {
        return false;
    }
    return true;
}

static void step_search(struct search *search, struct mono now)
{
    struct search_table *table = &search->table;
    bool close;

    if (conclude(search, now))
        return;
    close = search_table_suspect(table) == table->lo + 1;
    if (close && search->confirm_rank != table->lo) {
        search->confirm_rank = table->lo;
        search->confirm_from = search->flight.next;
        search_change_state(search, SEARCH_CONFIRMING);
    } else if (!close && search->state == SEARCH_CONFIRMING) {
        search->confirm_rank = no_rank;
        search_change_state(search, SEARCH_NARROWING);
    }
    if (!search_round_over(search, now))
        return;
    if (close)
        search_plan_confirm(table, search_round_begin(search, now));
    else
        search_plan_narrow(table, search_round_begin(search, now));
    search_round_shuffle(&search->round, &search->lots);
}

static void step(struct search *search, struct mono now)
{
    switch (search->state) {
    case SEARCH_HELLO:
        step_hello(search, now);
        return;
    case SEARCH_NARROWING:
    case SEARCH_CONFIRMING:
        step_search(search, now);
        return;
    case SEARCH_WATCHING:
        search_watch_step(search, now);
        return;
    case SEARCH_ENDED:
        return;
    }
}

/* --- sending ------------------------------------------------------------------------------ */

/* Gives up what has been waited for long enough. */
static void expire(struct search *search, struct mono now)
{
    int64_t wait = search_timer_wait(&search->timer);
    const struct search_slot *slot;

    while ((slot = search_flight_expire(&search->flight, now, wait)) != NULL) {
        if (slot->rank == SEARCH_CONTROL_RANK) {
            search->counts.controls_lost++;
            search->controls_lost_in_row++;
            search_table_control(&search->table, slot->id, false);
        } else {
            search_table_lost(&search->table, slot->rank, slot->id);
        }
    }
}

static struct search_ask send_one(struct search *search, int32_t rank, struct mono now)
{
    struct search_ask ask = { .control = rank == SEARCH_CONTROL_RANK };

    ask.size = ask.control ? search->config.control : search_scale_size(&search->table.scale, rank);
    ask.id = search_flight_send(&search->flight, rank, now);
    search->counts.datagrams++;
    if (ask.control)
        search->counts.controls++;
    else if (search_table_asked(&search->table, rank, ask.id))
        search->counts.retries++;
    search->next_send = mono_after(now, ask.size * NS_PER_S / search->config.pace);
    return ask;
}

/* What the round still has, less the sizes below one that is proven by now. */
static void drop_answered(struct search *search)
{
    struct search_round *round = &search->round;
    size_t kept = round->next;

    for (size_t i = round->next; i < round->count; i++)
        if (round->ranks[i] == SEARCH_CONTROL_RANK || round->ranks[i] >= search->table.lo)
            round->ranks[kept++] = round->ranks[i];
    round->count = kept;
}

enum status search_next(struct search *search, struct mono now, struct search_ask *out_ask)
{
    expire(search, now);
    drop_answered(search);
    do {
        search->moved = false;
        step(search, now);
    } while (search->moved);
    if (search->round.next == search->round.count || search_flight_full(&search->flight) ||
        mono_between(search->next_send, now) < 0)
        return STATUS_AGAIN;
    *out_ask = send_one(search, search->round.ranks[search->round.next++], now);
    return STATUS_OK;
}

/* When the states ask for something, with nothing to send and nothing to wait for. */
static struct mono deadline_of_state(const struct search *search)
{
    if (search->state == SEARCH_HELLO)
        return search->next_hello;
    if (search->state == SEARCH_WATCHING)
        return search_watch_deadline(search);
    return search->paused ? search->next_round : (struct mono){ 0 };
}

struct mono search_deadline(const struct search *search)
{
    const struct search_flight *flight = &search->flight;
    const struct search_slot *oldest = search_flight_oldest(flight);
    struct mono next = { INT64_MAX };
    struct mono other;

    if (search->state == SEARCH_ENDED)
        return next;
    if (oldest != NULL)
        next = mono_after(oldest->sent, search_timer_wait(&search->timer));
    if (search_flight_full(flight))
        return next;
    if (search->round.next < search->round.count)
        other = search->next_send;
    else if (search->state != SEARCH_HELLO && search_flight_out(flight, search->round_from))
        return next;
    else
        other = deadline_of_state(search);
    return mono_between(other, next) > 0 ? other : next;
}

/* --- the machine -------------------------------------------------------------------------- */

struct search *search_new(const struct search_config *config, struct mono now)
{
    struct search *search = memory_new(1, sizeof *search);
    struct search_config *own = &search->config;

    assert(search_check(config, NULL) == STATUS_OK);
    *own = *config;
    search->lots = own->seed;
    if (own->floor >= own->gap_first && own->floor <= own->gap_last)
        own->floor = own->gap_last + 1;
    if (own->ceiling >= own->gap_first && own->ceiling <= own->gap_last)
        own->ceiling = own->gap_first - 1;
    search->table.scale = search_scale_of(own->floor, own->ceiling, own->gap_first, own->gap_last);
    search->table.tries = (int32_t)own->tries;
    search->next_send = search->last_heard = now;
    search_table_reset(&search->table);
    search_begin_hello(search, now);
    return search;
}

void search_free(struct search *search)
{
    free(search);
}

enum search_state search_state(const struct search *search)
{
    return search->state;
}

void search_result(const struct search *search, struct search_result *out_result)
{
    const struct search_table *table = &search->table;

    *out_result = search->counts;
    out_result->path_mtu = table->lo < 0 ? 0 : search_scale_size(&table->scale, table->lo);
    out_result->next_size =
        table->hi < table->scale.count ? search_scale_size(&table->scale, table->hi) : 0;
    if (out_result->next_size == 0)
        out_result->limit = SEARCH_LIMIT_CEILING;
    else
        out_result->limit = table->local ? SEARCH_LIMIT_LOCAL : SEARCH_LIMIT_PATH;
    for (int32_t i = 0; i < search->hint_count; i++)
        out_result->hinted |= table->lo >= 0 && search->hints[i] == table->lo;
    out_result->rtt_ns = search->timer.srtt_ns;
}
