/* Private to store: SQLite behind a cursor whose first failure sticks. SQLite is used in
 * store_query.c only.
 *
 *     struct query query = query_begin(store, STATEMENT_RUN);
 *     query_text(&query, 1, run);
 *     while (query_next(&query))
 *         ... query_get_int(&query, 0) ...
 *     return query_end(&query, fault);
 *
 * No statement is left open between two calls of the store: an open one would keep the WAL from
 * being emptied.
 */
#ifndef SONDE_FLEET_STORE_QUERY_H
#define SONDE_FLEET_STORE_QUERY_H

#include "controller/fleet/store_part.h"

struct query {
    struct store *store;
    struct sqlite3_stmt *statement; /* NULL after a failure to prepare */
    int code;                       /* SQLite's; what sticks */
    bool kept;                      /* one of the store's own, else made for this query */
};

/* Opens the file with nothing decided about it yet: waits at most a second for locks, writes
 * nothing, and closing it does not empty its WAL. */
enum status query_open(const char *path, struct store *store, struct fault *fault) must_check;

/* From now on it is ours: does not wait for locks, prepares the statements that are kept. */
enum status query_adopt(struct store *store, struct fault *fault) must_check;

void query_close(struct store *store);

/* One of the kept statements, or one made for this query from our own text. */
struct query query_begin(struct store *store, enum statement which);
struct query query_make(struct store *store, const char *sql);

/* Values, by place from 1. Bytes and texts are borrowed until query_end. An id that is a UUID is
 * kept as its 16 bytes, which the unique index is about half as large for. */
void query_int(struct query *query, int place, int64_t value);
void query_text(struct query *query, int place, const char *text);
void query_id(struct query *query, int place, const char *id);
void query_bytes(struct query *query, int place, const void *bytes, size_t length);

/* Steps; true when there is a row. */
bool query_next(struct query *query);

/* The row's columns, from 0. */
int64_t query_get_int(const struct query *query, int column);
bool query_is_null(const struct query *query, int column);
void query_get_text(const struct query *query, int column, char *out_text, size_t size);
void query_get_id(const struct query *query, int column, char out_id[UUID_SIZE]);
const void *query_peek_bytes(const struct query *query, int column, size_t *out_length);

/* Ends it: what failed in it, if anything. */
enum status query_end(struct query *query, struct fault *fault) must_check;

/* For a query without rows: steps and ends. */
enum status query_run(struct query *query, struct fault *fault) must_check;

/* Rows that the last insert, update or delete changed. */
int64_t query_changes(const struct store *store);

/* Our own text, without values and rows. */
enum status query_execute(struct store *store, const char *sql, struct fault *fault) must_check;

/* A writing transaction: BEGIN IMMEDIATE; and its end: commits when `status` is STATUS_OK, else
 * takes everything back. Returns `status`, or why it could not be committed (then everything is
 * taken back, too). */
enum status store_begin(struct store *store, struct fault *fault) must_check;
enum status store_finish(struct store *store, enum status status, struct fault *fault) must_check;

#endif
