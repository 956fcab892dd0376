/* Owns the spool's file: how it is told from foreign files, how it is made, its statements, and
 * what SQLite's failures mean. Knows nothing of results. */
#include "agent/spool_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "proto/base/memory.h"
#include "proto/base/octets.h"
#include "proto/wire/limits.h"

/* "soSp" in the file's header (SQLite's application_id), and the version of the tables. */
enum { APPLICATION_ID = 0x736f5370, TABLES_VERSION = 1 };

/* How long a file that somebody else has locked is waited for: an agent has other things to do. */
enum { BUSY_MS = 50 };

/* What one value, and one statement, may take. */
enum { LARGEST_VALUE = 2 * LIMIT_RESULT_BYTES };

/* The header of an SQLite file (https://www.sqlite.org/fileformat.html, section 1.3). */
enum { HEADER_SIZE = 100, HEADER_APPLICATION_ID = 68 };
static const char header_magic[] = "SQLite format 3"; /* its zero included */

/* `total` always agrees with `result`, whoever changes it. Places are never used twice. */
static const char tables[] =
    "CREATE TABLE result (place INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE total (only INTEGER PRIMARY KEY CHECK (only = 1), waiting INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, dropped INTEGER NOT NULL);"
    "INSERT INTO total VALUES (1, 0, 0, 0);"
    "CREATE TRIGGER result_put AFTER INSERT ON result BEGIN"
    " UPDATE total SET waiting = waiting + 1, bytes = bytes + length(new.body); END;"
    "CREATE TRIGGER result_gone AFTER DELETE ON result BEGIN"
    " UPDATE total SET waiting = waiting - 1, bytes = bytes - length(old.body); END;";

static const char *const query_texts[SPOOL_QUERY_COUNT] = {
    [SPOOL_BEGIN] = "BEGIN IMMEDIATE",
    [SPOOL_COMMIT] = "COMMIT",
    [SPOOL_ROLLBACK] = "ROLLBACK",
    [SPOOL_INSERT] = "INSERT INTO result (id, kind, body) VALUES (?, ?, ?)",
    [SPOOL_NEXT] =
        "SELECT place, id, kind, body FROM result WHERE place > ? ORDER BY place LIMIT 1",
    [SPOOL_FORGET] = "DELETE FROM result WHERE id = ?",
    [SPOOL_DROP_OLDEST] = "DELETE FROM result WHERE place = (SELECT min(place) FROM result)",
    [SPOOL_COUNT_DROP] = "UPDATE total SET dropped = dropped + 1",
    [SPOOL_TOTALS] = "SELECT waiting, bytes, dropped FROM total",
};

static enum status status_of_code(struct sqlite3 *database, int code)
{
    enum status status;

    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STATUS_AGAIN;
    case SQLITE_FULL:
        return STATUS_NO_SPACE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* our statements are fixed: the tables are not those that they are for */
        return STATUS_CORRUPT;
    case SQLITE_CONSTRAINT:
        return STATUS_EXISTS;
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return STATUS_DENIED;
    case SQLITE_TOOBIG:
        return STATUS_TOO_LARGE;
    case SQLITE_NOMEM:
        return STATUS_NO_RESOURCE;
    default:
        status = status_of_errno(sqlite3_system_errno(database));
        return status == STATUS_OK ? STATUS_IO : status;
    }
}

static enum status damaged(const struct spool_sql *sql, const char *how, struct fault *fault)
{
    return fault_set(fault, STATUS_CORRUPT,
                     "spool %s: is damaged (%s); stop sonde-agent and move it away, a new one will "
                     "be made",
                     sql->path, how);
}

static enum status failed(const struct spool_sql *sql, int code, struct fault *fault)
{
    enum status status = status_of_code(sql->database, code);

    if (status == STATUS_CORRUPT)
        return damaged(sql, sqlite3_errmsg(sql->database), fault);
    if (status == STATUS_AGAIN)
        return fault_set(fault, status, "spool %s: somebody else has locked it", sql->path);
    return fault_set(fault, status, "spool %s: %s", sql->path, sqlite3_errmsg(sql->database));
}

void spool_sql_reset(struct spool_sql *sql, enum spool_query query)
{
    sqlite3_reset(sql->queries[query]);
    sqlite3_clear_bindings(sql->queries[query]);
}

enum status spool_sql_step(struct spool_sql *sql, enum spool_query query, int *out_code,
                           struct fault *fault)
{
    int code = sqlite3_step(sql->queries[query]);
    enum status status = STATUS_OK;

    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = failed(sql, code, fault);
    if (code != SQLITE_ROW)
        spool_sql_reset(sql, query);
    if (status == STATUS_OK)
        *out_code = code;
    return status;
}

enum status spool_sql_run(struct spool_sql *sql, enum spool_query query, struct fault *fault)
{
    int code;
    enum status status = spool_sql_step(sql, query, &code, fault);

    if (status == STATUS_OK)
        spool_sql_reset(sql, query);
    return status;
}

void spool_sql_rollback(struct spool_sql *sql)
{
    int ignored;

    /* Some failures have rolled back already. One of ROLLBACK itself leaves nothing to do. */
    if (sqlite3_get_autocommit(sql->database) == 0 &&
        spool_sql_step(sql, SPOOL_ROLLBACK, &ignored, NULL) != STATUS_OK)
        return;
}

/* --- opening --- */

/* The first number that a statement gives. */
static enum status number(struct spool_sql *sql, const char *text, int64_t *out_number,
                          struct fault *fault)
{
    struct sqlite3_stmt *query = NULL;
    int code = sqlite3_prepare_v2(sql->database, text, -1, &query, NULL);
    enum status status = STATUS_OK;

    if (code == SQLITE_OK)
        code = sqlite3_step(query);
    if (code == SQLITE_ROW)
        *out_number = sqlite3_column_int64(query, 0);
    else
        status = failed(sql, code, fault);
    sqlite3_finalize(query);
    return status;
}

static enum status run_text(struct spool_sql *sql, const char *text, struct fault *fault)
{
    int code = sqlite3_exec(sql->database, text, NULL, NULL, NULL);

    return code == SQLITE_OK ? STATUS_OK : failed(sql, code, fault);
}

static enum status foreign(const char *path, struct fault *fault)
{
    return fault_set(fault, STATUS_INVALID,
                     "spool %s: is a file of another kind; name one that does not exist", path);
}

static enum status check_header(const char *path, int file, struct fault *fault)
{
    uint8_t header[HEADER_SIZE];
    ssize_t length = pread(file, header, sizeof header, 0);

    if (length < 0)
        return fault_errno(fault, errno, "spool %s", path);
    if (length == 0)
        return STATUS_OK;
    if (length < HEADER_SIZE || memcmp(header, header_magic, sizeof header_magic) != 0 ||
        octets_get32(header + HEADER_APPLICATION_ID) != APPLICATION_ID)
        return foreign(path, fault);
    return STATUS_OK;
}

/* Makes an empty file that nobody else may read, or looks at what is there before SQLite does:
 * that would play back a foreign file's journal. An empty file is taken for a new one. (Closing it
 * gives up this process's locks on it, so a process opens a spool once.) */
static enum status look(const char *path, struct fault *fault)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    enum status status;
    struct stat info;

    if (file < 0 && errno == ENOENT)
        return fault_set(fault, STATUS_NOT_FOUND, "spool %s: its folder does not exist", path);
    if (file < 0)
        return fault_errno(fault, errno, "spool %s", path);
    if (fstat(file, &info) != 0)
        status = fault_errno(fault, errno, "spool %s", path);
    else if (!S_ISREG(info.st_mode))
        status = foreign(path, fault);
    else
        status = check_header(path, file, fault);
    close(file);
    return status;
}

/* The tables are made in SQLite's older kind of journal, so that the header in the file itself
 * says whose it is before any log stands beside it. */
static enum status make_tables(struct spool_sql *sql, struct fault *fault)
{
    char text[sizeof tables + 160];
    enum status status;

    snprintf(text, sizeof text,
             "BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d; %s COMMIT;",
             APPLICATION_ID, TABLES_VERSION, tables);
    status = run_text(sql, text, fault);
    if (status != STATUS_OK)
        sqlite3_exec(sql->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static enum status check_tables(struct spool_sql *sql, struct fault *fault)
{
    int64_t id = 0, version = 0, pages = 0, good = 0;
    enum status status = number(sql, "PRAGMA page_count", &pages, fault);

    if (status == STATUS_OK && pages == 0)
        return make_tables(sql, fault);
    if (status == STATUS_OK)
        status = number(sql, "PRAGMA application_id", &id, fault);
    if (status == STATUS_OK)
        status = number(sql, "PRAGMA user_version", &version, fault);
    if (status == STATUS_OK && id != APPLICATION_ID)
        status = foreign(sql->path, fault);
    if (status == STATUS_OK && version != TABLES_VERSION)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "spool %s: its form is version %lld; this sonde-agent reads version %d",
                           sql->path, (long long)version, TABLES_VERSION);
    /* One look at every page at the start: damage found later would hold up what lies behind. */
    if (status == STATUS_OK)
        status = number(sql, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", &good, fault);
    if (status == STATUS_OK && good != 1)
        status = damaged(sql, "its pages contradict each other", fault);
    return status;
}

/* synchronous: what is committed survives power failures. trusted_schema, cell_size_check: a file
 * is no program. A log that has grown is cut back to 4 MiB. */
static enum status prepare(struct spool_sql *sql, struct fault *fault)
{
    int64_t wal = 0;
    enum status status = run_text(sql,
                                  "PRAGMA synchronous=FULL; PRAGMA fullfsync=1;"
                                  "PRAGMA checkpoint_fullfsync=1; PRAGMA trusted_schema=0;"
                                  "PRAGMA cell_size_check=1; PRAGMA journal_size_limit=4194304",
                                  fault);

    if (status == STATUS_OK)
        status = check_tables(sql, fault);
    if (status == STATUS_OK)
        status = run_text(sql, "PRAGMA journal_mode=WAL", fault);
    if (status == STATUS_OK)
        status = number(sql, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &wal, fault);
    if (status == STATUS_OK && wal != 1)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "spool %s: its file system cannot hold a write-ahead log", sql->path);
    for (size_t i = 0; i < SPOOL_QUERY_COUNT && status == STATUS_OK; i++) {
        int code = sqlite3_prepare_v3(sql->database, query_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &sql->queries[i], NULL);

        if (code != SQLITE_OK)
            status = failed(sql, code, fault);
    }
    return status;
}

enum status spool_sql_open(const char *path, struct spool_sql *out_sql, struct fault *fault)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    struct spool_sql sql = { .path = memory_new(strlen(path) + 1, 1) };
    enum status status = look(path, fault);
    int code;

    memcpy(sql.path, path, strlen(path));
    if (status != STATUS_OK)
        goto out;
    code = sqlite3_open_v2(path, &sql.database, flags, NULL);
    if (code != SQLITE_OK) {
        status = failed(&sql, code, fault);
        goto out;
    }
    sqlite3_extended_result_codes(sql.database, 1);
    sqlite3_busy_timeout(sql.database, BUSY_MS);
    sqlite3_limit(sql.database, SQLITE_LIMIT_LENGTH, LARGEST_VALUE);
    status = prepare(&sql, fault);
    if (status == STATUS_OK) {
        *out_sql = sql;
        return STATUS_OK;
    }
out:
    spool_sql_close(&sql);
    return status;
}

void spool_sql_close(struct spool_sql *sql)
{
    for (size_t i = 0; i < SPOOL_QUERY_COUNT; i++)
        sqlite3_finalize(sql->queries[i]);
    sqlite3_close(sql->database);
    free(sql->path);
    *sql = (struct spool_sql){ .path = NULL };
}
