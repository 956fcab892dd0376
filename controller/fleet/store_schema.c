/* Owns the tables and how an older file becomes a newer one. Must not know what is done with them.
 *
 * application_id says that a file is ours, user_version how many of the migrations below it has
 * had. A migration that was released is never changed: the next change is a new one. */
#include <stdio.h>
#include <string.h>

#include "controller/fleet/store_query.h"

#define APPLICATION_ID 0x736f6e64 /* "sond" */

/* Times are nanoseconds since 1970. `body` is the msgpack form of a record: what the columns beside
 * it do not already say of a run; of a case and an agent all of it, the columns being what is
 * looked for. */
static const char *const migrations[] = {
    "CREATE TABLE results (seq INTEGER PRIMARY KEY, id NOT NULL UNIQUE, agent TEXT NOT NULL,"
    " kind TEXT NOT NULL, stored_at INTEGER NOT NULL, run TEXT, case_index INTEGER, role INTEGER,"
    " body BLOB NOT NULL);"
    "CREATE INDEX results_by_case ON results (run, case_index, role) WHERE run IS NOT NULL;"
    "CREATE INDEX results_by_time ON results (stored_at);"
    "CREATE TABLE runs (seq INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, sender TEXT NOT NULL,"
    " echo TEXT NOT NULL, operator TEXT NOT NULL, started INTEGER NOT NULL, finished INTEGER,"
    " outcome INTEGER, reason TEXT, body BLOB NOT NULL);"
    "CREATE INDEX runs_by_end ON runs (finished);"
    "CREATE TABLE cases (row INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL,"
    " case_index INTEGER NOT NULL, sender TEXT NOT NULL, echo TEXT NOT NULL,"
    " started INTEGER NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL,"
    " UNIQUE (run, case_index));"
    "CREATE INDEX cases_by_sender ON cases (sender);"
    "CREATE INDEX cases_by_echo ON cases (echo);"
    "CREATE INDEX cases_by_start ON cases (started);"
    "CREATE INDEX cases_by_status ON cases (status);"
    "CREATE TABLE agents (name TEXT PRIMARY KEY, seen INTEGER NOT NULL, body BLOB NOT NULL)"
    " WITHOUT ROWID;",
    /* Runs of another kind than pairs of hosts under load. What is looked for among cases is looked
     * for among those of one kind; family, direction and path_mtu are of rows of path MTU. */
    "ALTER TABLE runs ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cases ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cases ADD COLUMN family INTEGER;"
    "ALTER TABLE cases ADD COLUMN direction INTEGER;"
    "ALTER TABLE cases ADD COLUMN path_mtu INTEGER;"
    "DROP INDEX cases_by_sender;"
    "DROP INDEX cases_by_echo;"
    "DROP INDEX cases_by_start;"
    "DROP INDEX cases_by_status;"
    "CREATE INDEX cases_by_kind ON cases (kind);"
    "CREATE INDEX cases_by_sender ON cases (kind, sender);"
    "CREATE INDEX cases_by_echo ON cases (kind, echo);"
    "CREATE INDEX cases_by_start ON cases (kind, started);"
    "CREATE INDEX cases_by_status ON cases (kind, status);"
    "CREATE INDEX cases_by_path ON cases (sender, echo, family, direction, started, run)"
    " WHERE path_mtu IS NOT NULL;",
};

enum { VERSION = sizeof migrations / sizeof migrations[0] };

/* What the file says of itself. */
struct sort {
    int64_t application, version, tables;
};

static enum status one_number(struct store *store, const char *sql, int64_t *out_number,
                              struct fault *fault)
{
    struct query query = query_make(store, sql);

    if (query_next(&query))
        *out_number = query_get_int(&query, 0);
    return query_end(&query, fault);
}

static enum status look(struct store *store, struct sort *sort, struct fault *fault)
{
    enum status status = one_number(store, "PRAGMA application_id", &sort->application, fault);

    if (status == STATUS_OK)
        status = one_number(store, "PRAGMA user_version", &sort->version, fault);
    if (status == STATUS_OK)
        status = one_number(store, "SELECT count(*) FROM sqlite_master", &sort->tables, fault);
    return status;
}

static enum status judge(const struct sort *sort, struct fault *fault)
{
    bool empty = sort->application == 0 && sort->version == 0 && sort->tables == 0;

    if (sort->application != APPLICATION_ID && !empty)
        return fault_set(fault, STATUS_INVALID,
                         "the store's file belongs to another program (application_id %lld)",
                         (long long)sort->application);
    if (sort->version < 0 || sort->version > VERSION)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "the store's file is of version %lld, this program knows 1 to %d",
                         (long long)sort->version, VERSION);
    return STATUS_OK;
}

/* Readers are not kept out, and writing does not wait for them. */
static enum status use_wal(struct store *store, struct fault *fault)
{
    struct query query = query_make(store, "PRAGMA journal_mode = WAL");
    char mode[16] = "";
    enum status status;

    if (query_next(&query))
        query_get_text(&query, 0, mode, sizeof mode);
    status = query_end(&query, fault);
    if (status == STATUS_OK && strcmp(mode, "wal") != 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "the store's file system has no shared memory for SQLite's WAL");
    return status;
}

/* One step, or nothing when another process was faster. */
static enum status migrate_once(struct store *store, int64_t *out_version, struct fault *fault)
{
    struct sort sort = { 0, 0, 0 };
    char pragmas[96];
    enum status status = store_begin(store, fault);

    if (status != STATUS_OK)
        return status;
    status = look(store, &sort, fault);
    if (status == STATUS_OK)
        status = judge(&sort, fault);
    if (status == STATUS_OK && sort.version < VERSION) {
        status = query_execute(store, migrations[sort.version], fault);
        sort.version++;
        snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 APPLICATION_ID, (int)sort.version);
        if (status == STATUS_OK)
            status = query_execute(store, pragmas, fault);
    }
    status = store_finish(store, status, fault);
    if (status == STATUS_OK)
        *out_version = sort.version;
    return status;
}

enum status store_migrate(struct store *store, struct fault *fault)
{
    struct sort sort = { 0, 0, 0 };
    int64_t version;
    enum status status = look(store, &sort, fault);

    if (status == STATUS_OK)
        status = judge(&sort, fault);
    if (status == STATUS_OK)
        status = use_wal(store, fault);
    if (status == STATUS_OK)
        status = query_execute(store,
                               "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2048;"
                               "PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -8192",
                               fault);
    version = sort.version;
    while (status == STATUS_OK && version < VERSION)
        status = migrate_once(store, &version, fault);
    return status;
}
