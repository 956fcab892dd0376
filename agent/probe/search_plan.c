/* Owns the choice of sizes for a round. Must not know times or how asking went. */
#include "agent/probe/search_plan.h"

#include "agent/probe/lots.h"

enum { CONFIRM_TRIES = 5, MORE_SUSPECTS = 2, SUSPECT_TRIES = 2, ROUND_CONTROLS = 3 };

/* MTUs that people have (RFC 1191 table 7-1, tunnels, jumbo frames, loopback), the likeliest
 * first. They only order the questions; the answer is exact without them. */
static const int32_t common_mtus[] = { 1500,  9000,  1280, 1420, 1492, 1450, 1400, 1480,
                                       16384, 1440,  1460, 1476, 576,  9216, 8896, 9001,
                                       4352,  32000, 2002, 1006, 8166, 1300, 17914 };

static bool holds(const struct search_round *round, int32_t rank)
{
    for (size_t i = 0; i < round->count; i++)
        if (round->ranks[i] == rank)
            return true;
    return false;
}

static void add(struct search_round *round, int32_t rank)
{
    if (round->count < SEARCH_ROUND_MAX)
        round->ranks[round->count++] = rank;
}

/* Adds a rank that is above `lo` and below `end`, once. */
static void add_between(struct search_round *round, int32_t rank, int32_t lo, int32_t end)
{
    if (rank > lo && rank < end && !holds(round, rank))
        add(round, rank);
}

static void add_common(const struct search_table *table, int32_t end, size_t most,
                       struct search_round *round)
{
    for (size_t i = 0; i < sizeof common_mtus / sizeof common_mtus[0]; i++) {
        int32_t rank = search_scale_rank(&table->scale, common_mtus[i]);

        if (round->count >= most)
            return;
        if (search_scale_size(&table->scale, rank < 0 ? 0 : rank) == common_mtus[i])
            add_between(round, rank, table->lo, end);
    }
}

/* Even steps, so that the widest hole that is left is small. */
static void add_even(int32_t lo, int32_t end, size_t most, struct search_round *round)
{
    size_t have = round->count;

    for (size_t i = 1; have < most && i <= most - have; i++)
        add_between(round,
                    lo + (int32_t)((int64_t)(end - lo) * (int64_t)i / (int64_t)(most - have + 1)),
                    lo, end);
}

static void add_controls(struct search_round *round)
{
    for (int i = 0; i < ROUND_CONTROLS; i++)
        add(round, SEARCH_CONTROL_RANK);
}

void search_plan_hello(struct search_round *round)
{
    add(round, SEARCH_CONTROL_RANK);
}

/* Suspects above the lowest one: a larger one that passes clears all below it. From the middle and
 * from the top, as long as they have not had their tries. */
static void add_suspects(struct search_table *table, int32_t lowest, struct search_round *chosen)
{
    int32_t open[SEARCH_RECORDS];
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct search_record *record = &table->records[i];

        if (record->rank > lowest && record->rank < table->hi && record->lost > 0 &&
            record->lost < table->tries)
            open[count++] = record->rank;
    }
    for (size_t i = 0; i < MORE_SUSPECTS && count > 0; i++)
        add_between(chosen, open[i == 0 ? count - 1 : (count - 1) / 2], lowest, table->hi);
}

static void add_open(const struct search_table *table, int32_t end, struct search_round *chosen)
{
    for (size_t i = 0; i < table->count && chosen->count < SEARCH_ROUND_SIZES; i++)
        if (search_table_open(table, &table->records[i]))
            add_between(chosen, table->records[i].rank, table->lo, end);
}

void search_plan_narrow(struct search_table *table, struct search_round *round)
{
    int32_t suspect = search_table_suspect(table);
    int32_t top = table->scale.count - 1;

    add_open(table, suspect, round);
    if (search_table_find(table, top) == NULL)
        add_between(round, top, table->lo, table->hint < table->hi ? table->hint : table->hi);
    add_between(round, suspect - 1, table->lo, suspect);
    add_between(round, table->lo + 1, table->lo, suspect);
    if (suspect - table->lo > 2 * SEARCH_ROUND_SIZES)
        add_common(table, suspect, SEARCH_ROUND_SIZES, round);
    add_even(table->lo, suspect, SEARCH_ROUND_SIZES, round);
    for (size_t i = 0; suspect < table->hi && i < SUSPECT_TRIES; i++)
        add(round, suspect);
    add_suspects(table, suspect, round);
    add_controls(round);
}

void search_plan_confirm(struct search_table *table, struct search_round *round)
{
    const struct search_record *proven = search_table_find(table, table->lo);
    int32_t next = table->lo + 1;
    bool open = next < table->hi;
    bool doubted = proven != NULL && proven->lost > 0;

    for (int i = 0; i < CONFIRM_TRIES; i++) {
        if (!open && !doubted && i >= SUSPECT_TRIES)
            break;
        if (table->lo >= 0 && (i == 0 || doubted || !open))
            add(round, table->lo);
        add(round, SEARCH_CONTROL_RANK);
        if (open)
            add(round, next);
    }
    add_suspects(table, next, round);
}

void search_plan_check(const struct search_table *table, bool alarmed, struct search_round *round)
{
    for (int i = 0; i < (alarmed ? CONFIRM_TRIES : 1); i++) {
        add(round, table->lo < 0 ? 0 : table->lo);
        add(round, SEARCH_CONTROL_RANK);
    }
}

void search_plan_raise(struct search_table *table, struct search_round *round)
{
    int32_t end = table->scale.count;

    add_between(round, end - 1, table->lo, end);
    add_between(round, table->lo + 1, table->lo, end);
    add_common(table, end, SEARCH_ROUND_SIZES, round);
    add_controls(round);
}

void search_round_shuffle(struct search_round *round, uint64_t *lots)
{
    for (size_t left = round->count; left > 1; left--) {
        size_t other = (size_t)lots_draw(lots, left);
        int32_t rank = round->ranks[other];

        round->ranks[other] = round->ranks[left - 1];
        round->ranks[left - 1] = rank;
    }
}
