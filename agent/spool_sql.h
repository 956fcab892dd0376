/* The spool's file: its form, its statements, and SQLite's failures in our words. For spool.c. */
#ifndef SONDE_AGENT_SPOOL_SQL_H
#define SONDE_AGENT_SPOOL_SQL_H

#include <stdint.h>

#include "proto/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

enum spool_query {
    SPOOL_BEGIN, /* as a writer, at once: one that has read first could never become one */
    SPOOL_COMMIT,
    SPOOL_ROLLBACK,
    SPOOL_INSERT,      /* id, kind, body */
    SPOOL_NEXT,        /* behind a place: place, id, kind, body */
    SPOOL_FORGET,      /* id */
    SPOOL_DROP_OLDEST, /* the first result */
    SPOOL_COUNT_DROP,
    SPOOL_TOTALS, /* waiting, bytes, dropped */
    SPOOL_QUERY_COUNT
};

struct spool_sql {
    char *path; /* owned */
    struct sqlite3 *database;
    struct sqlite3_stmt *queries[SPOOL_QUERY_COUNT];
};

/* Opens or makes the file. On failure there is nothing to close. */
enum status spool_sql_open(const char *path, struct spool_sql *out_sql,
                           struct fault *fault) must_check;
void spool_sql_close(struct spool_sql *sql);

/* Runs a query whose parameters are bound up to its first row or its end, and makes it ready for
 * the next time; *out_code is SQLITE_ROW or SQLITE_DONE. Of a query with a row only the caller
 * makes it ready (spool_sql_reset), having read it. */
enum status spool_sql_step(struct spool_sql *sql, enum spool_query query, int *out_code,
                           struct fault *fault) must_check;

/* The same for a query that has no row to look at. */
enum status spool_sql_run(struct spool_sql *sql, enum spool_query query,
                          struct fault *fault) must_check;

void spool_sql_reset(struct spool_sql *sql, enum spool_query query);

/* SPOOL_ROLLBACK, where a transaction is open. */
void spool_sql_rollback(struct spool_sql *sql);

#endif
