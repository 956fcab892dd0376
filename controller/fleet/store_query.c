/* Owns SQLite: the connection, every kept statement's text, locks and failures as statuses. Must
 * not know what a result, a run or a case means.
 *
 * Durability: WAL with synchronous=FULL, so a commit has reached the disk when it returns. The WAL
 * is emptied into the file at the first commit that makes it longer than 8 MiB, and the largest
 * transaction is a batch (8 MiB of bodies): it stays below 32 MiB unless another program reads all
 * the while, and is cut back to 16 MiB once that program is done. */
#include "controller/fleet/store_query.h"

#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"

enum { OPEN_WAIT_MS = 1000, UUID_BYTES = 16, UUID_LETTERS = 36 };

/* Values only ever through places: nothing that came from outside is part of a text. */
static const char *const statement_texts[STATEMENT_COUNT] = {
    [STATEMENT_ADD_RESULT] =
        "INSERT INTO results (id, agent, kind, stored_at, run, case_index, role, body)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
    [STATEMENT_RESULT] = "SELECT body FROM results WHERE id = ?1",
    [STATEMENT_RUN_BEGIN] = "INSERT INTO runs (run, sender, echo, operator, started, body,"
                            " kind) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [STATEMENT_RUN_END] = "UPDATE runs SET finished = ?2, outcome = ?3, reason = ?4"
                          " WHERE run = ?1 AND finished IS NULL",
    [STATEMENT_ORPHANS_END] = "UPDATE runs SET finished = ?1, outcome = ?2, reason = ?3"
                              " WHERE finished IS NULL",
    [STATEMENT_RUN] =
        "SELECT run, sender, echo, operator, started, finished, outcome, reason, body,"
        " kind FROM runs WHERE run = ?1",
    [STATEMENT_RUN_LATEST] = "SELECT run FROM runs ORDER BY seq DESC LIMIT 1",
    [STATEMENT_RUN_PREFIX] = "SELECT run FROM runs WHERE run >= ?1 AND run < ?2 ORDER BY run"
                             " LIMIT 2",
    [STATEMENT_CASE] =
        "INSERT INTO cases (run, case_index, sender, echo, started, status, body, kind, family,"
        " direction, path_mtu) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        " ON CONFLICT (run, case_index) DO UPDATE SET"
        " sender = excluded.sender, echo = excluded.echo, started = excluded.started,"
        " status = excluded.status, body = excluded.body, kind = excluded.kind,"
        " family = excluded.family, direction = excluded.direction, path_mtu = excluded.path_mtu",
    [STATEMENT_PREVIOUS] =
        "SELECT path_mtu FROM cases WHERE path_mtu IS NOT NULL AND sender = ?1 AND echo = ?2"
        " AND family = ?3 AND direction = ?4 AND (started, run) < (?5, ?6)"
        " ORDER BY started DESC, run DESC LIMIT 1",
    [STATEMENT_CASE_REPORTS] =
        "SELECT r.id, r.role FROM results AS r JOIN runs ON runs.run = r.run"
        " WHERE r.run = ?1 AND r.case_index = ?2"
        " AND r.agent = CASE r.role WHEN ?3 THEN runs.sender ELSE runs.echo END"
        " AND r.kind = CASE runs.kind WHEN ?4 THEN ?5 ELSE ?6 END ORDER BY r.seq",
    [STATEMENT_AGENT] = "INSERT INTO agents (name, seen, body) VALUES (?1, ?2, ?3)"
                        " ON CONFLICT (name) DO UPDATE SET seen = excluded.seen,"
                        " body = excluded.body",
    [STATEMENT_AGENTS] = "SELECT seen, body FROM agents ORDER BY name LIMIT ?1",
    [STATEMENT_OLD_RUNS] = "SELECT run FROM runs WHERE finished < ?1 ORDER BY finished LIMIT 1",
    [STATEMENT_DELETE_RESULTS] = "DELETE FROM results WHERE seq IN"
                                 " (SELECT seq FROM results WHERE run = ?1 LIMIT ?2)",
    [STATEMENT_DELETE_CASES] = "DELETE FROM cases WHERE row IN"
                               " (SELECT row FROM cases WHERE run = ?1 LIMIT ?2)",
    [STATEMENT_DELETE_RUN] = "DELETE FROM runs WHERE run = ?1",
    [STATEMENT_DELETE_LONE_RESULTS] =
        "DELETE FROM results WHERE seq IN (SELECT seq FROM results AS r WHERE r.stored_at < ?1"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = r.run)"
        " ORDER BY r.stored_at LIMIT ?2)",
};

/* --- failures ---------------------------------------------------------------------------------
 */

static enum status status_of_code(struct store *store, int code)
{
    enum status of_system;

    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return STATUS_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STATUS_AGAIN;
    case SQLITE_FULL:
        return STATUS_NO_SPACE;
    case SQLITE_NOMEM:
        return STATUS_NO_RESOURCE;
    case SQLITE_CORRUPT:
        return STATUS_CORRUPT;
    case SQLITE_NOTADB:
        return STATUS_INVALID;
    case SQLITE_CONSTRAINT:
        return STATUS_EXISTS;
    case SQLITE_TOOBIG:
        return STATUS_TOO_LARGE;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return STATUS_DENIED;
    default:
        of_system = status_of_errno(sqlite3_system_errno(store->db));
        return of_system == STATUS_OK || of_system == STATUS_AGAIN ? STATUS_IO : of_system;
    }
}

static enum status failure(struct store *store, int code, struct fault *fault)
{
    enum status status = status_of_code(store, code);
    const char *path = sqlite3_db_filename(store->db, "main");
    int error = sqlite3_system_errno(store->db);

    if (status == STATUS_OK)
        return STATUS_OK;
    if (status == STATUS_AGAIN)
        return fault_set(fault, status, "%s: locked by another program", path);
    if ((code & 0xff) == SQLITE_IOERR && error != 0)
        return fault_set(fault, status, "%s: %s: %s", path, sqlite3_errstr(code), strerror(error));
    return fault_set(fault, status, "%s: %s", path, sqlite3_errmsg(store->db));
}

/* --- the connection ---------------------------------------------------------------------------
 */

enum status query_open(const char *path, struct store *store, struct fault *fault)
{
    /* One thread has it, so SQLite needs no mutexes of its own. */
    int code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    enum status status;

    if (store->db == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "%s: out of memory", path);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(store->db, 1);
        sqlite3_busy_timeout(store->db, OPEN_WAIT_MS);
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        return STATUS_OK;
    }
    status = status_of_code(store, code);
    return fault_set(fault, status, "%s: %s", path, sqlite3_errmsg(store->db));
}

enum status query_adopt(struct store *store, struct fault *fault)
{
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_busy_timeout(store->db, 0);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        int code = sqlite3_prepare_v3(store->db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &store->statements[i], NULL);
        if (code != SQLITE_OK)
            return failure(store, code, fault);
    }
    return STATUS_OK;
}

void query_close(struct store *store)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(store->statements[i]);
    sqlite3_close(store->db);
}

/* --- queries ----------------------------------------------------------------------------------
 */

struct query query_begin(struct store *store, enum statement which)
{
    assert(!sqlite3_stmt_busy(store->statements[which]));
    return (struct query){ .store = store, .statement = store->statements[which], .kept = true };
}

struct query query_make(struct store *store, const char *sql)
{
    struct query query = { .store = store };

    query.code = sqlite3_prepare_v2(store->db, sql, -1, &query.statement, NULL);
    return query;
}

static void keep_code(struct query *query, int code)
{
    if (query->code == SQLITE_OK)
        query->code = code;
}

void query_int(struct query *query, int place, int64_t value)
{
    keep_code(query, sqlite3_bind_int64(query->statement, place, value));
}

void query_text(struct query *query, int place, const char *text)
{
    keep_code(query, sqlite3_bind_text(query->statement, place, text, -1, SQLITE_STATIC));
}

void query_bytes(struct query *query, int place, const void *bytes, size_t length)
{
    /* NULL would be no value instead of an empty one. */
    keep_code(query, sqlite3_bind_blob64(query->statement, place, length > 0 ? bytes : "", length,
                                         SQLITE_STATIC));
}

static int hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static bool is_dash(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

/* Only the one form that query_get_id writes, so that an id comes back as it was given. */
static bool uuid_bytes(const char *id, uint8_t out_bytes[UUID_BYTES])
{
    size_t count = 0;

    if (strlen(id) != UUID_LETTERS)
        return false;
    for (size_t at = 0; at < UUID_LETTERS;) {
        int high, low;

        if (is_dash(at)) {
            if (id[at++] != '-')
                return false;
            continue;
        }
        high = hex_digit(id[at]);
        low = hex_digit(id[at + 1]);
        if (high < 0 || low < 0)
            return false;
        out_bytes[count++] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    return true;
}

void query_id(struct query *query, int place, const char *id)
{
    uint8_t bytes[UUID_BYTES];

    if (uuid_bytes(id, bytes))
        keep_code(query, sqlite3_bind_blob(query->statement, place, bytes, sizeof bytes,
                                           SQLITE_TRANSIENT));
    else
        query_text(query, place, id);
}

bool query_next(struct query *query)
{
    int code;

    if (query->code != SQLITE_OK)
        return false;
    code = sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        query->code = code;
    return code == SQLITE_ROW;
}

int64_t query_get_int(const struct query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

bool query_is_null(const struct query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

void query_get_text(const struct query *query, int column, char *out_text, size_t size)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);

    text_copy(out_text, size, text != NULL ? (const char *)text : "");
}

void query_get_id(const struct query *query, int column, char out_id[UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes;
    size_t at = 0;

    if (sqlite3_column_type(query->statement, column) != SQLITE_BLOB ||
        sqlite3_column_bytes(query->statement, column) != UUID_BYTES) {
        query_get_text(query, column, out_id, UUID_SIZE);
        return;
    }
    bytes = sqlite3_column_blob(query->statement, column);
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (is_dash(at))
            out_id[at++] = '-';
        out_id[at++] = digits[bytes[i] >> 4];
        out_id[at++] = digits[bytes[i] & 15];
    }
    out_id[at] = '\0';
}

const void *query_peek_bytes(const struct query *query, int column, size_t *out_length)
{
    const void *bytes = sqlite3_column_blob(query->statement, column);

    *out_length = (size_t)sqlite3_column_bytes(query->statement, column);
    return bytes;
}

enum status query_end(struct query *query, struct fault *fault)
{
    /* The words first: resetting may change them. */
    enum status status = failure(query->store, query->code, fault);

    if (query->kept) {
        sqlite3_reset(query->statement);
        sqlite3_clear_bindings(query->statement);
    } else {
        sqlite3_finalize(query->statement);
    }
    query->statement = NULL;
    return status;
}

enum status query_run(struct query *query, struct fault *fault)
{
    bool row = query_next(query);

    assert(!row);
    return query_end(query, fault);
}

int64_t query_changes(const struct store *store)
{
    return sqlite3_changes(store->db);
}

enum status query_execute(struct store *store, const char *sql, struct fault *fault)
{
    return failure(store, sqlite3_exec(store->db, sql, NULL, NULL, NULL), fault);
}

/* --- transactions -----------------------------------------------------------------------------
 */

enum status store_begin(struct store *store, struct fault *fault)
{
    return query_execute(store, "BEGIN IMMEDIATE", fault);
}

enum status store_finish(struct store *store, enum status status, struct fault *fault)
{
    if (status == STATUS_OK)
        status = query_execute(store, "COMMIT", fault);
    /* A failure may have ended the transaction by itself, or left it open. */
    if (!sqlite3_get_autocommit(store->db)) {
        int code = sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        assert(code == SQLITE_OK || sqlite3_get_autocommit(store->db));
    }
    return status;
}
