/* A small map from sequence numbers to a time, for the few that are missing or outstanding. Pure.
 *
 * Open addressing, linear probing, deletion by shifting back, so that a lookup is a multiply and
 * one cache line. Grows by doubling up to a cap, then refuses.
 */
#ifndef SONDE_PROBE_SEQTABLE_H
#define SONDE_PROBE_SEQTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seqtable_slot {
    uint64_t key; /* sequence number plus 1; 0 is free */
    int64_t value;
};

struct seqtable {
    struct seqtable_slot *slots;
    size_t mask; /* slots - 1 */
    size_t count;
    size_t cap; /* the most entries that it takes */
};

/* Takes at most `cap` entries (at least 1); starts with room for `expected`. */
void seqtable_init(struct seqtable *table, size_t expected, size_t cap);
void seqtable_done(struct seqtable *table);

/* Adds a sequence number that is not in it; false when the cap is reached. */
bool seqtable_put(struct seqtable *table, uint64_t sequence, int64_t value);

/* Takes it out; false when it is not there. out_value may be NULL. */
bool seqtable_take(struct seqtable *table, uint64_t sequence, int64_t *out_value);

/* Looks without taking; false when it is not there. */
bool seqtable_peek(const struct seqtable *table, uint64_t sequence, int64_t *out_value);

/* How many entries are below `sequence`. Walks the whole table. */
size_t seqtable_count_below(const struct seqtable *table, uint64_t sequence);

/* The full sequence number of 32 bits from the wire: the one nearest to `near`. A distance of
 * exactly 2^31 is taken as behind. */
uint64_t sequence_extend(uint32_t wire, uint64_t near);

#endif
