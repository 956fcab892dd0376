/* Owns the results that the controller has not yet committed: put, read in order, forgotten, the
 * oldest dropped when there are too many. Knows nothing of the controller, nor of what a result's
 * body says. */
#include "agent/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "agent/spool_sql.h"
#include "proto/base/memory.h"

struct spool {
    struct spool_sql sql;
    int64_t max_bytes;
    struct spool_report totals; /* of the file, as last committed or seen here */
};

static enum status read_totals(struct spool *spool, struct spool_report *out_totals,
                               struct fault *fault)
{
    sqlite3_stmt *query = spool->sql.queries[SPOOL_TOTALS];
    struct spool_report totals;
    int code;
    enum status status = spool_sql_step(&spool->sql, SPOOL_TOTALS, &code, fault);

    if (status != STATUS_OK)
        return status;
    if (code != SQLITE_ROW)
        return fault_set(fault, STATUS_CORRUPT, "spool %s: it has lost its totals; move it away",
                         spool->sql.path);
    totals = (struct spool_report){ .waiting = sqlite3_column_int64(query, 0),
                                    .bytes = sqlite3_column_int64(query, 1),
                                    .dropped = sqlite3_column_int64(query, 2) };
    spool_sql_reset(&spool->sql, SPOOL_TOTALS);
    if (totals.waiting < 0 || totals.bytes < 0 || totals.dropped < 0)
        return fault_set(fault, STATUS_CORRUPT, "spool %s: its totals are below 0; move it away",
                         spool->sql.path);
    *out_totals = totals;
    return STATUS_OK;
}

/* Inside a transaction: drops the oldest while there are too many bytes. */
static enum status make_room(struct spool *spool, struct spool_report *out_totals,
                             struct fault *fault)
{
    enum status status = read_totals(spool, out_totals, fault);

    while (status == STATUS_OK && out_totals->bytes > spool->max_bytes && out_totals->waiting > 0) {
        status = spool_sql_run(&spool->sql, SPOOL_DROP_OLDEST, fault);
        if (status == STATUS_OK)
            status = spool_sql_run(&spool->sql, SPOOL_COUNT_DROP, fault);
        if (status == STATUS_OK)
            status = read_totals(spool, out_totals, fault);
    }
    return status;
}

/* Ends the transaction that a change has begun: room is made, then all of it holds or nothing. */
static enum status finish(struct spool *spool, enum status status, struct fault *fault)
{
    struct spool_report totals = { .waiting = 0 };

    if (status == STATUS_OK)
        status = make_room(spool, &totals, fault);
    if (status == STATUS_OK)
        status = spool_sql_run(&spool->sql, SPOOL_COMMIT, fault);
    if (status == STATUS_OK)
        spool->totals = totals;
    else
        spool_sql_rollback(&spool->sql);
    return status;
}

enum status spool_open(const char *path, int64_t max_bytes, struct spool **out_spool,
                       struct fault *fault)
{
    struct spool *spool = memory_new(1, sizeof *spool);
    enum status status = spool_sql_open(path, &spool->sql, fault);

    spool->max_bytes = max_bytes;
    if (status == STATUS_OK)
        status = read_totals(spool, &spool->totals, fault);
    if (status == STATUS_OK && spool->totals.bytes > max_bytes) {
        status = spool_sql_run(&spool->sql, SPOOL_BEGIN, fault);
        if (status == STATUS_OK)
            status = finish(spool, status, fault);
    }
    if (status == STATUS_OK)
        *out_spool = spool;
    else
        spool_close(spool);
    return status;
}

void spool_close(struct spool *spool)
{
    if (spool == NULL)
        return;
    spool_sql_close(&spool->sql);
    free(spool);
}

static enum status insert(struct spool *spool, const struct message_result *result,
                          struct fault *fault)
{
    sqlite3_stmt *query = spool->sql.queries[SPOOL_INSERT];
    const void *body = result->body.length > 0 ? (const void *)result->body.data : "";
    enum status status;

    sqlite3_bind_text(query, 1, result->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, result->kind, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(query, 3, body, result->body.length, SQLITE_STATIC);
    status = spool_sql_run(&spool->sql, SPOOL_INSERT, fault);
    if (status == STATUS_EXISTS)
        return fault_set(fault, status, "spool %s: result %s is there already", spool->sql.path,
                         result->id);
    return status;
}

enum status spool_put(struct spool *spool, const struct message_result *result, struct fault *fault)
{
    size_t largest = spool->max_bytes < LIMIT_RESULT_BYTES ? (size_t)spool->max_bytes
                                                           : (size_t)LIMIT_RESULT_BYTES;
    enum status status;

    if (result->body.length > largest)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "spool %s: result %s has %zu bytes; at most %zu are allowed",
                         spool->sql.path, result->id, result->body.length, largest);
    status = spool_sql_run(&spool->sql, SPOOL_BEGIN, fault);
    if (status == STATUS_OK)
        status = finish(spool, insert(spool, result, fault), fault);
    return status;
}

/* Text of a row; false when it is longer than it can have been put. */
static bool column_text(sqlite3_stmt *query, int column, char *out_text, size_t size)
{
    const unsigned char *text = sqlite3_column_text(query, column);
    size_t length = (size_t)sqlite3_column_bytes(query, column);

    if (text == NULL || length >= size || strlen((const char *)text) != length)
        return false;
    memcpy(out_text, text, length + 1);
    return true;
}

enum status spool_next(struct spool *spool, int64_t after, struct message_result *out_result,
                       int64_t *out_place, struct fault *fault)
{
    sqlite3_stmt *query = spool->sql.queries[SPOOL_NEXT];
    char id[UUID_SIZE] = "", kind[sizeof out_result->kind] = "";
    enum status status;
    int64_t place;
    int code;

    sqlite3_bind_int64(query, 1, after);
    status = spool_sql_step(&spool->sql, SPOOL_NEXT, &code, fault);
    if (status != STATUS_OK)
        return status;
    if (code == SQLITE_DONE)
        return STATUS_NOT_FOUND;
    place = sqlite3_column_int64(query, 0);
    if (column_text(query, 1, id, sizeof id) && column_text(query, 2, kind, sizeof kind) &&
        sqlite3_column_bytes(query, 3) <= LIMIT_RESULT_BYTES) {
        memcpy(out_result->id, id, sizeof id);
        memcpy(out_result->kind, kind, sizeof kind);
        bytes_set(&out_result->body, sqlite3_column_blob(query, 3),
                  (size_t)sqlite3_column_bytes(query, 3));
        *out_place = place;
    } else {
        status = fault_set(fault, STATUS_CORRUPT,
                           "spool %s: place %lld holds no result; stop sonde-agent and move the "
                           "file away",
                           spool->sql.path, (long long)place);
    }
    spool_sql_reset(&spool->sql, SPOOL_NEXT);
    return status;
}

enum status spool_forget(struct spool *spool, const struct list *ids, struct fault *fault)
{
    sqlite3_stmt *query = spool->sql.queries[SPOOL_FORGET];
    char *const *words = ids->items;
    enum status status;

    if (ids->count == 0)
        return STATUS_OK;
    status = spool_sql_run(&spool->sql, SPOOL_BEGIN, fault);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < ids->count && status == STATUS_OK; i++) {
        sqlite3_bind_text(query, 1, words[i], -1, SQLITE_STATIC);
        status = spool_sql_run(&spool->sql, SPOOL_FORGET, fault);
    }
    return finish(spool, status, fault);
}

void spool_report(const struct spool *spool, struct spool_report *out_report)
{
    *out_report = spool->totals;
}
