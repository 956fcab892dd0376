/* A store in a folder of its own, and what tests put into one. */
#ifndef SONDE_TESTS_TEMP_STORE_H
#define SONDE_TESTS_TEMP_STORE_H

#include "controller/fleet/store.h"

enum { TEMP_PATH_SIZE = 128 };

struct temp_store {
    char folder[64];
    char path[TEMP_PATH_SIZE];
    struct store *store;
};

/* An empty folder without a store. */
void temp_store_folder(struct temp_store *temp);

/* As temp_store_folder, with an open store in it. */
void temp_store_make(struct temp_store *temp);

/* Closes and opens it again, as a restart does. */
void temp_store_reopen(struct temp_store *temp);
void temp_store_done(struct temp_store *temp);

/* A UUID that only `number` has. */
void temp_id(uint64_t number, char out_id[UUID_SIZE]);

/* Adds a result with this body; it must be taken. */
void temp_add(struct store *store, const char *agent, const char *id, const char *kind,
              const char *body);

/* Commits; it must succeed. Returns how many of the ids are fresh. */
size_t temp_commit(struct store *store);

/* The body of a stored result as text must be this. */
void temp_expect_body(struct store *store, const char *id, const char *body);

/* A run from a to b that began at this second. */
void temp_run(struct store *store, const char *run, int64_t started_s);

/* A row that record_check passes: run, index, the run's start; from a to b, passed. */
void temp_case(struct case_row *out_row, const char *run, int64_t index, int64_t started_s);

/* A row of a path MTU run, likewise: IPv4, in this direction, of 1500. */
void temp_mtu(struct mtu_row *out_row, const char *run, enum mtu_direction direction,
              int64_t started_s);

/* Runs our own SQL on a connection of its own, as another program would. */
void temp_sql(const char *path, const char *sql);

/* The number that a query of one row answers. */
int64_t temp_count(const char *path, const char *sql);

/* Size of PATH followed by `suffix`, -1 when it is not there. */
int64_t temp_size(const struct temp_store *temp, const char *suffix);

#endif
