/* Owns what is known of each size: tries in a row, the small datagrams meanwhile, and the bounds
 * that follow. Must not know times, rounds or why a size was asked.
 */
#include "agent/probe/search_table.h"

#include <string.h>

struct search_scale search_scale_of(int64_t floor, int64_t ceiling, int64_t gap_first,
                                    int64_t gap_last)
{
    struct search_scale scale = { .floor = floor, .gap_first = 1, .gap_last = 0 };
    int64_t count = ceiling - floor + 1;

    if (gap_first <= gap_last && gap_first > floor && gap_last < ceiling) {
        scale.gap_first = gap_first;
        scale.gap_last = gap_last;
        count -= gap_last - gap_first + 1;
    }
    scale.count = (int32_t)count;
    return scale;
}

int64_t search_scale_size(const struct search_scale *scale, int32_t rank)
{
    int64_t size = scale->floor + rank;

    if (scale->gap_first <= scale->gap_last && size >= scale->gap_first)
        size += scale->gap_last - scale->gap_first + 1;
    return size;
}

int32_t search_scale_rank(const struct search_scale *scale, int64_t size)
{
    int64_t rank = size - scale->floor;

    if (scale->gap_first <= scale->gap_last && size >= scale->gap_first)
        rank -= (size < scale->gap_last ? size : scale->gap_last) - scale->gap_first + 1;
    if (rank < 0)
        return -1;
    return rank < scale->count ? (int32_t)rank : scale->count - 1;
}

void search_table_reset(struct search_table *table)
{
    table->lo = -1;
    table->hi = table->scale.count;
    table->hint = table->scale.count;
    table->local = false;
    table->doubt = 1;
    table->count = 0;
}

/* Where the record of this rank stands, or would. */
static size_t place(const struct search_table *table, int32_t rank)
{
    size_t at = 0;

    while (at < table->count && table->records[at].rank < rank)
        at++;
    return at;
}

struct search_record *search_table_find(struct search_table *table, int32_t rank)
{
    size_t at = place(table, rank);

    return at < table->count && table->records[at].rank == rank ? &table->records[at] : NULL;
}

/* A full table forgets the largest size: the search is interested in the smallest that fails. */
static struct search_record *enter(struct search_table *table, int32_t rank)
{
    size_t at = place(table, rank);

    if (table->count == SEARCH_RECORDS) {
        table->count--;
        if (at > table->count)
            at = table->count;
    }
    memmove(&table->records[at + 1], &table->records[at],
            (table->count - at) * sizeof table->records[0]);
    table->count++;
    table->records[at] = (struct search_record){ .rank = rank };
    return &table->records[at];
}

bool search_table_asked(struct search_table *table, int32_t rank, uint32_t id)
{
    struct search_record *record = search_table_find(table, rank);

    if (record == NULL) {
        record = enter(table, rank);
        record->from = id;
    }
    return record->asked++ > 0;
}

/* Lost while something else passed: else it is the path that was lost. */
static bool is_suspected(const struct search_table *table, const struct search_record *record)
{
    return (record->lost >= table->doubt && record->passed > 0) || record->refused > 0;
}

bool search_table_open(const struct search_table *table, const struct search_record *record)
{
    return record->lost > 0 && !is_suspected(table, record);
}

/* Once for all that an acknowledgement has cleared. */
static void learn_doubt(struct search_table *table, int32_t rank)
{
    for (size_t i = 0; i < table->count && table->records[i].rank <= rank; i++) {
        if (table->records[i].rank > table->lo && table->records[i].lost >= table->doubt) {
            table->doubt += table->doubt < table->tries;
            return;
        }
    }
}

/* What is smaller than a proven size is of no interest any more. */
static void raise_lo(struct search_table *table, int32_t rank)
{
    size_t at = place(table, rank);

    learn_doubt(table, rank);
    memmove(&table->records[0], &table->records[at],
            (table->count - at) * sizeof table->records[0]);
    table->count -= at;
    table->lo = rank;
    if (table->hi <= rank) {
        table->hi = table->scale.count;
        table->local = false;
    }
    if (table->hint <= rank)
        table->hint = table->scale.count;
}

void search_table_acked(struct search_table *table, int32_t rank, uint32_t id)
{
    struct search_record *record;

    if (rank > table->lo)
        raise_lo(table, rank);
    if (rank < table->lo)
        return;
    record = search_table_find(table, rank);
    if (record == NULL)
        record = enter(table, rank);
    record->acks++;
    if (record->acks > 1 && id < record->last_ack)
        return;
    record->last_ack = id;
    record->from = id + 1;
    record->lost = record->refused = record->passed = record->missed = 0;
}

void search_table_lost(struct search_table *table, int32_t rank, uint32_t id)
{
    struct search_record *record = search_table_find(table, rank);

    if (record == NULL || id < record->from)
        return;
    record->lost++;
}

void search_table_refused(struct search_table *table, int32_t rank)
{
    struct search_record *record = search_table_find(table, rank);

    if (record == NULL)
        return;
    if (record->asked != record->refused_as + 1)
        record->refused = 0;
    record->refused++;
    record->refused_as = record->asked;
}

void search_table_control(struct search_table *table, uint32_t id, bool passed)
{
    for (size_t i = 0; i < table->count; i++) {
        struct search_record *record = &table->records[i];

        if (id >= record->from && passed)
            record->passed++;
        else if (id >= record->from)
            record->missed++;
    }
}

void search_table_control_late(struct search_table *table, uint32_t id)
{
    for (size_t i = 0; i < table->count; i++) {
        struct search_record *record = &table->records[i];

        if (id >= record->from && record->missed > 0) {
            record->missed--;
            record->passed++;
        }
    }
}

/* Under "this size suffers what small datagrams suffer", and given how many of both were lost, the
 * lost ones are any of them with the same chance: that all tries are among them has the chance
 * C(m, k) / C(n + m, n + k), whatever the loss is. */
bool search_table_proven(const struct search_table *table, const struct search_record *record)
{
    double chance = 1;

    if (record->refused >= SEARCH_REFUSALS)
        return true;
    if (record->lost < table->tries)
        return false;
    for (int32_t i = 1; i <= record->lost; i++)
        chance *= (double)(record->missed + i) / (record->passed + record->missed + i);
    return chance < SEARCH_CHANCE;
}

void search_table_judge(struct search_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct search_record *record = &table->records[i];

        if (record->rank >= table->hi)
            return;
        if (record->rank > table->lo && search_table_proven(table, record)) {
            table->hi = record->rank;
            table->local = record->refused >= SEARCH_REFUSALS;
            return;
        }
    }
}

int32_t search_table_suspect(const struct search_table *table)
{
    int32_t least = table->hi < table->hint ? table->hi : table->hint;

    for (size_t i = 0; i < table->count; i++) {
        const struct search_record *record = &table->records[i];

        if (record->rank >= least)
            break;
        if (record->rank > table->lo && is_suspected(table, record))
            return record->rank;
    }
    return least;
}
