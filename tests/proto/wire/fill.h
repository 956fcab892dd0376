/* Fills any struct with what its table allows. */
#ifndef SONDE_TESTS_FILL_H
#define SONDE_TESTS_FILL_H

#include "proto/wire/record.h"
#include "tests/agent/probe/chance.h"

enum fill { FILL_LEAST, FILL_MOST, FILL_RANDOM };

struct filler {
    enum fill how;
    struct chance chance; /* FILL_RANDOM */
    size_t list_cap;      /* elements of a list, whatever its table allows; 0: as many as allowed */
};

/* FILL_LEAST: the least numbers, null where it may be, empty texts and lists. FILL_MOST: the
 * largest of everything. FILL_RANDOM: between. What the object held is freed; the caller owns it.
 */
void fill_record(struct filler *filler, const struct record *record, void *object);

#endif
