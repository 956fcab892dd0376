/* Owns how a host's facts and counters, as the first and the last report of a run have them, become
 * the host of an archive. */
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/verdict.h"

static void copy_map(const struct list *map, struct list *out_map)
{
    const struct map_item *items = map->items;

    for (size_t i = 0; i < map->count; i++)
        *(struct map_item *)list_append_sized(out_map, sizeof *items) = items[i];
}

/* Why it is unknown: as the first report says, else the last. */
static void explain(const struct host_counters *first, const struct host_counters *last,
                    const char *counter, struct list *out_unavailable)
{
    const struct map_item *reason = map_find(&first->unavailable, counter);

    if (reason == NULL)
        reason = map_find(&last->unavailable, counter);
    map_add_text(out_unavailable, counter,
                 reason == NULL || reason->text[0] == '\0' ? "the host's reports do not say why"
                                                           : reason->text);
}

/* A source of 32 bits may wrap; only its host knows which are, so a single report's word is taken
 * where it can be true (proto/wire/counters.h). */
static bool is_wrap(int64_t before, int64_t after, int64_t delta)
{
    const int64_t span = INT64_C(1) << 32;

    return before < span && after < before && delta == after - before + span && delta < span / 2;
}

/* One counter from the beginning of the first case to the end of the last; over several reports,
 * what went backwards was reset. */
static void span_counter(const struct host *first, const struct host *last, size_t i,
                         struct host_counters *out)
{
    const struct host_counters *from = &first->counters, *to = &last->counters;
    int64_t before = from->before.value[i], after = to->after.value[i];
    bool known = before != NONE_INT && after != NONE_INT;

    out->before.value[i] = before;
    out->after.value[i] = after;
    if (before == NONE_INT && after == NONE_INT)
        explain(from, to, counter_names[i], &out->unavailable);
    if (!known)
        return;
    if (!words_have(&from->reset, counter_names[i]) && !words_have(&to->reset, counter_names[i])) {
        if (after >= before)
            out->delta.value[i] = after - before;
        else if (first == last && is_wrap(before, after, from->delta.value[i]))
            out->delta.value[i] = from->delta.value[i];
    }
    if (out->delta.value[i] == NONE_INT)
        words_add(&out->reset, counter_names[i]);
}

void verdict_host(enum end_role role, const struct host *first, const struct host *last,
                  struct host *out_host)
{
    *out_host = *first;
    out_host->role = role == END_SENDER ? HOST_SENDER : HOST_ECHO;
    out_host->libraries = (struct list){ 0 };
    out_host->limits = (struct list){ 0 };
    record_init(&host_counters_record, &out_host->counters);
    copy_map(&first->libraries, &out_host->libraries);
    copy_map(&first->limits, &out_host->limits);
    out_host->limits_unchanged = first->limits_unchanged && last->limits_unchanged &&
                                 map_equal_int(&first->limits, &last->limits);
    out_host->counters.idle = first->counters.idle;
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        span_counter(first, last, i, &out_host->counters);
}
