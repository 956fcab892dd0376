/* Owns the stores that tests make and remove. */
#include "tests/controller/fleet/temp_store.h"

#include <dirent.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void temp_store_folder(struct temp_store *temp)
{
    snprintf(temp->folder, sizeof temp->folder, "/tmp/sonde-store-XXXXXX");
    assert_non_null(mkdtemp(temp->folder));
    snprintf(temp->path, sizeof temp->path, "%s/sonde.sqlite", temp->folder);
    temp->store = NULL;
}

static void open_it(struct temp_store *temp)
{
    struct fault fault = { "" };
    enum status status = store_open(temp->path, &temp->store, &fault);

    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
}

void temp_store_make(struct temp_store *temp)
{
    temp_store_folder(temp);
    open_it(temp);
}

void temp_store_reopen(struct temp_store *temp)
{
    store_close(temp->store);
    open_it(temp);
}

void temp_store_done(struct temp_store *temp)
{
    DIR *folder;
    struct dirent *entry;

    store_close(temp->store);
    folder = opendir(temp->folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[TEMP_PATH_SIZE + 256];

        snprintf(path, sizeof path, "%s/%s", temp->folder, entry->d_name);
        unlink(path);
    }
    if (folder != NULL)
        closedir(folder);
    rmdir(temp->folder);
}

void temp_id(uint64_t number, char out_id[UUID_SIZE])
{
    snprintf(out_id, UUID_SIZE, "%08x-0000-7000-8000-%012llx", (unsigned)(number >> 48),
             (unsigned long long)(number & 0xffffffffffff));
}

void temp_add(struct store *store, const char *agent, const char *id, const char *kind,
              const char *body)
{
    struct message_result result;
    enum status status;

    message_init(&result, MESSAGE_RESULT);
    snprintf(result.id, sizeof result.id, "%s", id);
    snprintf(result.kind, sizeof result.kind, "%s", kind);
    bytes_set(&result.body, body, strlen(body));
    status = store_add(store, agent, &result, (struct wall){ 1000 * NS_PER_S });
    message_done(&result);
    assert_int_equal(STATUS_OK, status);
}

size_t temp_commit(struct store *store)
{
    struct fault fault = { "" };
    struct list ids = { NULL, 0 };
    const struct store_id *items;
    size_t fresh = 0;

    if (store_commit(store, &ids, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    items = ids.items;
    for (size_t i = 0; i < ids.count; i++)
        fresh += items[i].fresh;
    store_ids_done(&ids);
    return fresh;
}

void temp_expect_body(struct store *store, const char *id, const char *body)
{
    struct buf found;

    buf_init(&found, LIMIT_FRAME);
    assert_int_equal(STATUS_OK, store_result(store, id, &found));
    assert_string_equal(body, buf_peek(&found));
    buf_done(&found);
}

void temp_run(struct store *store, const char *run, int64_t started_s)
{
    const struct field *payloads = record_field(&plan_record, "payloads", NULL);
    struct fault fault = { "" };
    struct run_entry entry;

    record_init(&run_entry_record, &entry);
    snprintf(entry.run, sizeof entry.run, "%s", run);
    snprintf(entry.from, sizeof entry.from, "a");
    snprintf(entry.to, sizeof entry.to, "b");
    snprintf(entry.operator_name, sizeof entry.operator_name, "olga");
    wall_format((struct wall){ started_s * NS_PER_S }, entry.started);
    *(int64_t *)list_append(&entry.work.plan.payloads, payloads) = 1472;
    *(int64_t *)list_append(&entry.work.plan.windows, payloads) = 16;
    *(int *)list_append(&entry.work.plan.engines, record_field(&plan_record, "engines", NULL)) = 0;
    entry.work.plan.repeats = 1;
    entry.work.plan.common.clients = entry.work.plan.common.io_threads = 1;
    entry.work.plan.common.seconds = 1;
    entry.work.plan.common.rcvbuf = entry.work.plan.common.sndbuf = 1 << 20;
    *(char **)list_append(&entry.command, record_field(&run_entry_record, "command", NULL)) =
        strdup("sonde");
    if (store_run_begin(store, &entry, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    record_done(&run_entry_record, &entry);
}

void temp_case(struct case_row *out_row, const char *run, int64_t index, int64_t started_s)
{
    record_init(&case_row_record, out_row);
    snprintf(out_row->run, sizeof out_row->run, "%s", run);
    snprintf(out_row->from, sizeof out_row->from, "a");
    snprintf(out_row->to, sizeof out_row->to, "b");
    wall_format((struct wall){ started_s * NS_PER_S }, out_row->started);
    out_row->index = index;
    out_row->status = CASE_PASS;
    out_row->params.payload = 1472;
    out_row->params.window = 16;
    out_row->params.repeat = 1;
    out_row->params.common.clients = out_row->params.common.io_threads = 1;
    out_row->params.common.seconds = 1;
    out_row->params.common.rcvbuf = out_row->params.common.sndbuf = 1 << 20;
}

void temp_mtu(struct mtu_row *out_row, const char *run, enum mtu_direction direction,
              int64_t started_s)
{
    record_init(&mtu_row_record, out_row);
    snprintf(out_row->run, sizeof out_row->run, "%s", run);
    snprintf(out_row->from, sizeof out_row->from, "a");
    snprintf(out_row->to, sizeof out_row->to, "b");
    wall_format((struct wall){ started_s * NS_PER_S }, out_row->started);
    out_row->index = (int64_t)direction;
    out_row->family = FAMILY_IPV4;
    out_row->direction = direction;
    out_row->status = CASE_PASS;
    out_row->verdict = MTU_CLEAN;
    out_row->flows = 1;
    out_row->path_mtu = out_row->largest = out_row->local_mtu = 1500;
    out_row->udp_payload = 1472;
    snprintf(out_row->groups, sizeof out_row->groups, "1500");
}

void temp_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &db));
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

int64_t temp_count(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t count;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &db));
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

int64_t temp_size(const struct temp_store *temp, const char *suffix)
{
    char path[TEMP_PATH_SIZE + 16];
    struct stat found;

    snprintf(path, sizeof path, "%s%s", temp->path, suffix);
    return stat(path, &found) == 0 ? (int64_t)found.st_size : -1;
}
