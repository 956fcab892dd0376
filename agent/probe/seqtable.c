/* Owns the hash table of sequence numbers. Knows nothing of what they stand for. */
#include "agent/probe/seqtable.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_MIN = 16 };

static size_t slots_for(size_t entries)
{
    size_t slots = SLOTS_MIN;

    while (slots < entries * 2)
        slots *= 2;
    return slots;
}

static struct seqtable_slot *make_slots(size_t count)
{
    struct seqtable_slot *slots = calloc(count, sizeof *slots);

    if (slots == NULL)
        abort();
    return slots;
}

/* Neighbouring sequence numbers stay neighbours: they are what is looked up together. */
static size_t home_of(const struct seqtable *table, uint64_t key)
{
    return (size_t)key & table->mask;
}

static size_t find(const struct seqtable *table, uint64_t key)
{
    size_t at = home_of(table, key);

    while (table->slots[at].key != 0 && table->slots[at].key != key)
        at = (at + 1) & table->mask;
    return at;
}

static void grow(struct seqtable *table)
{
    struct seqtable_slot *old = table->slots;
    size_t old_slots = table->mask + 1;

    table->slots = make_slots(old_slots * 2);
    table->mask = old_slots * 2 - 1;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i].key != 0)
            table->slots[find(table, old[i].key)] = old[i];
    }
    free(old);
}

void seqtable_init(struct seqtable *table, size_t expected, size_t cap)
{
    size_t slots = slots_for(expected < cap ? expected : cap);

    assert(cap > 0);
    *table = (struct seqtable){ .slots = make_slots(slots), .mask = slots - 1, .cap = cap };
}

void seqtable_done(struct seqtable *table)
{
    free(table->slots);
    *table = (struct seqtable){ 0 };
}

bool seqtable_put(struct seqtable *table, uint64_t sequence, int64_t value)
{
    size_t at;

    if (table->count >= table->cap)
        return false;
    if ((table->count + 1) * 2 > table->mask + 1)
        grow(table);
    at = find(table, sequence + 1);
    assert(table->slots[at].key == 0);
    table->slots[at] = (struct seqtable_slot){ .key = sequence + 1, .value = value };
    table->count++;
    return true;
}

/* Closes the gap at `hole`: whatever would no longer be found from its home moves back. */
static void close_gap(struct seqtable *table, size_t hole)
{
    size_t at = hole;

    for (;;) {
        size_t home;

        table->slots[hole].key = 0;
        do {
            at = (at + 1) & table->mask;
            if (table->slots[at].key == 0)
                return;
            home = home_of(table, table->slots[at].key);
        } while (((at - home) & table->mask) < ((at - hole) & table->mask));
        table->slots[hole] = table->slots[at];
        hole = at;
    }
}

bool seqtable_take(struct seqtable *table, uint64_t sequence, int64_t *out_value)
{
    size_t at = find(table, sequence + 1);

    if (table->slots[at].key == 0)
        return false;
    if (out_value != NULL)
        *out_value = table->slots[at].value;
    close_gap(table, at);
    table->count--;
    return true;
}

bool seqtable_peek(const struct seqtable *table, uint64_t sequence, int64_t *out_value)
{
    const struct seqtable_slot *slot = &table->slots[find(table, sequence + 1)];

    if (slot->key == 0)
        return false;
    *out_value = slot->value;
    return true;
}

size_t seqtable_count_below(const struct seqtable *table, uint64_t sequence)
{
    size_t count = 0;

    for (size_t i = 0; i <= table->mask; i++)
        count += table->slots[i].key != 0 && table->slots[i].key - 1 < sequence;
    return count;
}

uint64_t sequence_extend(uint32_t wire, uint64_t near)
{
    uint32_t ahead = wire - (uint32_t)near;

    if (ahead < UINT32_C(0x80000000))
        return near + ahead;
    ahead = (uint32_t)near - wire; /* now: how far behind */
    return near >= ahead ? near - ahead : near + wire - (uint32_t)near;
}
