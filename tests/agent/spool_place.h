/* A spool in a folder of a test's own, and results whose number says what must be in them. */
#ifndef SONDE_TESTS_AGENT_SPOOL_PLACE_H
#define SONDE_TESTS_AGENT_SPOOL_PLACE_H

#include "agent/spool.h"

enum { MIB = 1 << 20, SMALL = 1000 };

/* A folder of its own for each test. */
struct place {
    char folder[64], path[128];
    struct spool *spool;
};

/* cmocka's setup and teardown; *state is the place. */
int make_place(void **state);
int remove_place(void **state);

void open_spool(struct place *place, int64_t max_bytes);
void close_spool(struct place *place);

/* A result of this number with a body of so many bytes. */
enum status put(struct spool *spool, unsigned number, size_t length, struct fault *fault);
void must_put(struct place *place, unsigned number, size_t length);

/* The next one behind *place, which must be whole; false at the end. */
bool next(struct spool *spool, int64_t *place, unsigned *out_number, size_t *out_length);

/* These and no others are there, in order, and in the totals. */
void assert_holds(struct place *place, unsigned first, unsigned last, size_t length);
void assert_dropped(struct place *place, int64_t dropped);

/* Runs SQL on the file as somebody else. */
void as_somebody_else(const struct place *place, const char *text);

#endif
