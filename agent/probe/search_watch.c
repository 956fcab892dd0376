/* Owns the time after the answer: the check for black holes, the try for more, and what is told.
 * Must not know how a search goes.
 *
 * What changes is told when a search has proven the new value: a false alarm costs datagrams, and
 * finds the old value again, which is no news.
 */
#include "agent/probe/search_machine.h"

#include <string.h>

enum { RAISE_ROUNDS = 3 };

static void tell(struct search *search, enum search_event_kind kind, int64_t to, struct mono now)
{
    if (search->event_count == SEARCH_EVENTS) {
        search->event_count--;
        memmove(&search->events[0], &search->events[1],
                search->event_count * sizeof search->events[0]);
    }
    search->events[search->event_count++] =
        (struct search_event){ .kind = kind, .from = search->told_size, .to = to, .at = now };
}

void search_watch_begin(struct search *search, struct mono now)
{
    const struct search_table *table = &search->table;
    int64_t size = table->lo < 0 ? 0 : search_scale_size(&table->scale, table->lo);

    if (!search->reachable)
        tell(search, SEARCH_EVENT_KNOWN, size, now);
    else if (size != search->told_size)
        tell(search, SEARCH_EVENT_CHANGED, size, now);
    search->told = search->reachable = true;
    search->told_size = size;
    search->alarmed = search->alarm_spent = false;
    search->carried_hint = 0;
    search->raises_left = 0;
    search->next_check = mono_after(now, search->config.check_ns);
    search->next_raise = mono_after(now, search->config.raise_ns);
    search_change_state(search, SEARCH_WATCHING);
}

void search_watch_dead(struct search *search, struct mono now)
{
    if (search->reachable || !search->told)
        tell(search, SEARCH_EVENT_UNREACHABLE, 0, now);
    search->told = true;
    search->reachable = false;
    search_begin_hello(search, mono_after(now, search->config.check_ns));
}

/* Whether the last try of lo was lost, or an ICMP error asks for another. */
static bool is_doubted(const struct search *search)
{
    const struct search_record *record = &search->table.records[0];

    if (search->table.count == 0 || record->rank != search->table.lo)
        return false; /* not even the floor passes */
    return search->alarmed || record->lost > 0 || record->refused > 0;
}

static void search_again(struct search *search)
{
    int32_t hint = search->carried_hint;

    search_begin(search);
    if (hint > 0)
        search->table.hint = hint;
    search->carried_hint = 0;
}

void search_watch_step(struct search *search, struct mono now)
{
    const struct search_record *record = search_table_find(&search->table, search->table.lo);
    bool doubted = is_doubted(search);

    if (record != NULL && search_table_proven(&search->table, record)) {
        search_again(search);
        return;
    }
    if (search_is_dead(search, now)) {
        search_watch_dead(search, now);
        return;
    }
    search->hurry = search->alarmed;
    if (!search_round_over(search, now) || mono_between(search_watch_deadline(search), now) < 0)
        return;
    if (doubted || mono_between(search->next_check, now) >= 0) {
        search->alarm_spent = doubted && (search->alarmed || search->alarm_spent);
        search->alarmed = false;
        search->next_check = mono_after(now, search->config.check_ns);
        search_plan_check(&search->table, doubted, search_round_begin(search, now));
        search_round_shuffle(&search->round, &search->lots);
        return;
    }
    if (search->raises_left == 0) {
        search->raises_left = RAISE_ROUNDS;
        search->next_raise = mono_after(now, search->config.raise_ns);
    }
    search->raises_left--;
    search_plan_raise(&search->table, search_round_begin(search, now));
    search_round_shuffle(&search->round, &search->lots);
}

struct mono search_watch_deadline(const struct search *search)
{
    struct mono next = search->next_check;
    bool urgent = search->raises_left > 0 || is_doubted(search);

    if (mono_between(next, search->next_raise) < 0)
        next = search->next_raise;
    if (urgent || (search->paused && mono_between(next, search->next_round) > 0))
        return search->paused ? search->next_round : (struct mono){ 0 };
    return next;
}

bool search_event(struct search *search, struct search_event *out_event)
{
    if (search->event_count == 0)
        return false;
    *out_event = search->events[0];
    search->event_count--;
    memmove(&search->events[0], &search->events[1], search->event_count * sizeof search->events[0]);
    return true;
}
