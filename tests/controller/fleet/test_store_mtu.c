/* Runs of path MTU in the store: their rows beside those of cases, what the run before had found,
 * and files of the version that knew no such runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "proto/wire/record_table.h"
#include "tests/controller/fleet/make_report.h"
#include "tests/controller/fleet/temp_store.h"

static int setup(void **state)
{
    static struct temp_store temp;

    temp_store_make(&temp);
    *state = &temp;
    return 0;
}

static int teardown(void **state)
{
    temp_store_done(*state);
    return 0;
}

static struct store *store_of(void **state)
{
    return ((struct temp_store *)*state)->store;
}

static void keep(struct store *store, struct mtu_row *row)
{
    struct fault fault = { "" };

    if (store_mtu(store, row, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static struct message_results ask(struct store *store, struct message_list_results query)
{
    struct message_results results;
    struct fault fault = { "" };

    message_init(&results, MESSAGE_RESULTS);
    if (store_cases(store, &query, &results, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return results;
}

static struct message_list_results everything(enum work_kind kind)
{
    struct message_list_results query;

    message_init(&query, MESSAGE_LIST_RESULTS);
    query.kind = kind;
    query.limit = LIMIT_ROWS;
    return query;
}

/* --- runs and rows --------------------------------------------------------------------------- */

static void a_run_comes_back_with_its_plan(void **state)
{
    struct run_entry entry, found;
    struct fault fault = { "" };

    record_init(&run_entry_record, &entry);
    text_copy(entry.run, sizeof entry.run, "abcd");
    text_copy(entry.started, sizeof entry.started, "2026-11-30T18:44:10Z");
    entry.work.kind = WORK_MTU;
    make_mtu_plan(2, &entry.work.mtu_plan);
    entry.work.mtu_plan.common.flows = 16;
    assert_int_equal(STATUS_OK, store_run_begin(store_of(state), &entry, &fault));
    temp_store_reopen(*state);
    assert_int_equal(STATUS_OK, store_run(store_of(state), "abcd", &found, &fault));
    assert_int_equal(WORK_MTU, found.work.kind);
    assert_int_equal(2, work_count(&found.work));
    assert_int_equal(FAMILY_IPV6, work_family(&found.work, 1));
    assert_int_equal(16, found.work.mtu_plan.common.flows);
    assert_int_equal(STATUS_OK, record_check(&run_entry_record, &found, &fault));
    record_done(&run_entry_record, &found);
    record_done(&run_entry_record, &entry);
}

static void rows_are_listed_by_kind(void **state)
{
    struct store *store = store_of(state);
    struct message_list_results query;
    struct message_results results;
    struct case_row of_case;
    struct mtu_row row;
    struct fault fault;

    temp_case(&of_case, "abcd-1", 0, 100);
    assert_int_equal(STATUS_OK, store_case(store, &of_case, &fault));
    temp_mtu(&row, "abcd-2", MTU_FORWARD, 200);
    keep(store, &row);
    temp_mtu(&row, "abcd-2", MTU_REVERSE, 200);
    row.status = CASE_FAIL;
    row.verdict = MTU_BLACK_HOLE;
    keep(store, &row);
    results = ask(store, everything(WORK_MTU));
    assert_int_equal(0, results.rows.count);
    assert_int_equal(2, results.mtu_rows.count);
    assert_int_equal(MTU_BLACK_HOLE, ((struct mtu_row *)results.mtu_rows.items)[0].verdict);
    assert_int_equal(2, ((struct mtu_row *)results.mtu_rows.items)[1].row);
    assert_string_equal("1500", ((struct mtu_row *)results.mtu_rows.items)[1].groups);
    assert_int_equal(STATUS_OK,
                     record_check(message_kinds[MESSAGE_RESULTS].record, &results, &fault));
    message_done(&results);
    results = ask(store, everything(WORK_CASES));
    assert_int_equal(1, results.rows.count);
    assert_int_equal(0, results.mtu_rows.count);
    message_done(&results);
    query = everything(WORK_MTU);
    text_copy(query.run, sizeof query.run, "abcd");
    query.status = CASE_FAIL;
    query.limit = 1;
    results = ask(store, query);
    assert_int_equal(1, results.mtu_rows.count);
    assert_false(results.more);
    message_done(&results);
}

static void a_row_is_replaced_and_keeps_its_number(void **state)
{
    struct store *store = store_of(state);
    struct message_results results;
    struct mtu_row row;

    temp_mtu(&row, "abcd", MTU_FORWARD, 100);
    row.status = CASE_ERROR;
    row.path_mtu = 1280;
    keep(store, &row);
    for (int i = 0; i < 2; i++) {
        temp_mtu(&row, "abcd", MTU_FORWARD, 100);
        keep(store, &row);
        assert_int_equal(NONE_INT, row.previous); /* it is not its own */
    }
    results = ask(store, everything(WORK_MTU));
    assert_int_equal(1, results.mtu_rows.count);
    assert_int_equal(CASE_PASS, ((struct mtu_row *)results.mtu_rows.items)[0].status);
    message_done(&results);
    text_copy(row.started, sizeof row.started, "today");
    assert_int_equal(STATUS_INVALID, store_mtu(store, &row, NULL));
}

/* Keeps a row; the previous one must be this. */
static void expect_previous(struct store *store, const struct mtu_row *row, int64_t previous)
{
    struct message_results results;
    struct mtu_row kept = *row;

    keep(store, &kept);
    assert_int_equal(previous, kept.previous);
    results = ask(store, everything(WORK_MTU));
    assert_int_equal(previous, ((struct mtu_row *)results.mtu_rows.items)[0].previous);
    message_done(&results);
}

static void the_previous_one_is_of_the_same_question(void **state)
{
    struct store *store = store_of(state);
    struct mtu_row row;

    temp_mtu(&row, "run-1", MTU_FORWARD, 100);
    expect_previous(store, &row, NONE_INT);
    temp_mtu(&row, "run-2", MTU_REVERSE, 200);
    row.path_mtu = 1400;
    expect_previous(store, &row, NONE_INT);
    temp_mtu(&row, "run-3", MTU_FORWARD, 300);
    row.family = FAMILY_IPV6;
    expect_previous(store, &row, NONE_INT);
    temp_mtu(&row, "run-4", MTU_FORWARD, 400);
    text_copy(row.to, sizeof row.to, "c");
    expect_previous(store, &row, NONE_INT);
    temp_mtu(&row, "run-5", MTU_FORWARD, 500);
    row.path_mtu = 1450;
    expect_previous(store, &row, 1500);
    temp_mtu(&row, "run-6", MTU_REVERSE, 600);
    expect_previous(store, &row, 1400);
    temp_mtu(&row, "run-7", MTU_FORWARD, 700);
    expect_previous(store, &row, 1450);
}

static void an_answer_that_is_none_is_nobodys_previous_one(void **state)
{
    struct store *store = store_of(state);
    struct mtu_row row;

    temp_mtu(&row, "run-1", MTU_FORWARD, 100);
    expect_previous(store, &row, NONE_INT);
    temp_mtu(&row, "run-2", MTU_FORWARD, 200);
    row.status = CASE_ERROR; /* cut off: more may pass than was acknowledged */
    row.path_mtu = 1280;
    expect_previous(store, &row, 1500);
    temp_mtu(&row, "run-3", MTU_FORWARD, 300);
    row.status = CASE_FAIL;
    row.verdict = MTU_NO_ANSWER;
    row.path_mtu = NONE_INT;
    expect_previous(store, &row, 1500);
    temp_mtu(&row, "run-4", MTU_FORWARD, 400);
    expect_previous(store, &row, 1500);
}

/* A report may come a day late, after later runs have been joined. */
static void the_previous_one_is_of_an_earlier_run(void **state)
{
    struct store *store = store_of(state);
    struct mtu_row row;

    temp_mtu(&row, "run-1", MTU_FORWARD, 100);
    keep(store, &row);
    temp_mtu(&row, "run-3", MTU_FORWARD, 300);
    row.path_mtu = 1400;
    keep(store, &row);
    temp_mtu(&row, "run-2", MTU_FORWARD, 200);
    row.path_mtu = 1300;
    expect_previous(store, &row, 1500);
    temp_mtu(&row, "run-4", MTU_FORWARD, 300); /* in the same moment as run-3 */
    expect_previous(store, &row, 1400);
}

static void what_is_old_goes(void **state)
{
    struct temp_store *temp = *state;
    struct run_end end = { "abcd", "", RUN_COMPLETE, { 150 * NS_PER_S } };
    struct fault fault;
    struct mtu_row row;
    int64_t count;

    temp_run(temp->store, "abcd", 100);
    temp_mtu(&row, "abcd", MTU_FORWARD, 100);
    keep(temp->store, &row);
    assert_int_equal(STATUS_OK, store_run_end(temp->store, &end, &fault));
    assert_int_equal(STATUS_OK,
                     store_retain(temp->store, (struct wall){ 151 * NS_PER_S }, &count, &fault));
    assert_int_equal(2, count);
    assert_int_equal(0, temp_count(temp->path, "SELECT count(*) FROM cases"));
}

/* --- reports --------------------------------------------------------------------------------- */

static void add_report(struct store *store, const char *run, const char *id, const char *kind)
{
    struct message_result result;
    struct buf body;

    buf_init(&body, 200);
    buf_printf(&body, "\x83\xa3run\xa4%s%s%s", run, "\xa5index\x01", "\xa4role\xa6sender");
    message_init(&result, MESSAGE_RESULT);
    text_copy(result.id, sizeof result.id, id);
    text_copy(result.kind, sizeof result.kind, kind);
    bytes_set(&result.body, body.data, body.length);
    assert_int_equal(STATUS_OK, store_add(store, "a", &result, (struct wall){ 0 }));
    message_done(&result);
    buf_done(&body);
}

static void a_report_is_of_its_runs_kind(void **state)
{
    struct store *store = store_of(state);
    char ids[END_COUNT][UUID_SIZE];
    struct run_entry entry;
    struct fault fault;

    temp_run(store, "pair", 100);
    assert_int_equal(STATUS_OK, store_run(store, "pair", &entry, &fault));
    text_copy(entry.run, sizeof entry.run, "mtu1");
    entry.work.kind = WORK_MTU;
    make_mtu_plan(2, &entry.work.mtu_plan);
    assert_int_equal(STATUS_OK, store_run_begin(store, &entry, &fault));
    record_done(&run_entry_record, &entry);
    add_report(store, "pair", "p-mtu", "mtu_report");
    add_report(store, "pair", "p-pair", "report");
    add_report(store, "mtu1", "m-pair", "report");
    add_report(store, "mtu1", "m-mtu", "mtu_report");
    add_report(store, "mtu1", "m-note", "note");
    temp_commit(store);
    assert_int_equal(STATUS_OK, store_case_reports(store, "pair", 1, ids));
    assert_string_equal("p-pair", ids[END_SENDER]);
    assert_int_equal(STATUS_OK, store_case_reports(store, "mtu1", 1, ids));
    assert_string_equal("m-mtu", ids[END_SENDER]);
}

/* --- files of version 1 ---------------------------------------------------------------------- */

static const char version_1[] =
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
    " WITHOUT ROWID;"
    "PRAGMA application_id = 1936682596; PRAGMA user_version = 1";

/* What version 1 kept of a run beside its columns. */
struct body_1 {
    struct plan plan;
    struct list command;
};

static const struct field body_1_fields[] = {
    PART(struct body_1, plan, plan_record, ""),
    WORDS(struct body_1, command, LIMIT_COMMAND_WORDS, ""),
};
static const struct record body_1_record = RECORD(body_1, body_1_fields);

static void insert(const char *path, const char *head, const struct record *record,
                   const void *object)
{
    struct buf sql, body;

    buf_init(&sql, 65536);
    buf_init(&body, 65536);
    assert_int_equal(STATUS_OK, record_to_msgpack(record, object, &body));
    buf_printf(&sql, "%s, x'", head);
    for (size_t i = 0; i < body.length; i++)
        buf_printf(&sql, "%02x", (unsigned)(uint8_t)body.data[i]);
    buf_text(&sql, "')");
    temp_sql(path, buf_peek(&sql));
    buf_done(&body);
    buf_done(&sql);
}

static void make_version_1(const char *path)
{
    struct body_1 body = { .command = { NULL, 0 } };
    struct case_row row;

    temp_sql(path, version_1);
    make_fleet_plan(3, &body.plan);
    words_add(&body.command, "sonde");
    insert(path,
           "INSERT INTO runs (run, sender, echo, operator, started, body)"
           " VALUES ('abcd', 'a', 'b', 'olga', 100000000000",
           &body_1_record, &body);
    record_done(&body_1_record, &body);
    temp_case(&row, "abcd", 2, 100);
    row.sent = 12345;
    insert(path,
           "INSERT INTO cases (run, case_index, sender, echo, started, status, body)"
           " VALUES ('abcd', 2, 'a', 'b', 100000000000, 0",
           &case_row_record, &row);
    temp_sql(path, "INSERT INTO results (id, agent, kind, stored_at, run, case_index, role, body)"
                   " VALUES ('of a', 'a', 'report', 1, 'abcd', 2, 0, x'80')");
}

static void a_file_of_version_1_goes_on(void **state)
{
    struct temp_store temp;
    struct message_results results;
    struct run_entry entry;
    char ids[END_COUNT][UUID_SIZE];
    struct mtu_row row;
    struct fault fault = { "" };

    (void)state;
    temp_store_folder(&temp);
    make_version_1(temp.path);
    temp_store_reopen(&temp);
    assert_int_equal(2, temp_count(temp.path, "PRAGMA user_version"));
    assert_int_equal(STATUS_OK, store_run(temp.store, "latest", &entry, &fault));
    assert_int_equal(WORK_CASES, entry.work.kind);
    assert_int_equal(3, work_count(&entry.work));
    assert_string_equal("olga", entry.operator_name);
    record_done(&run_entry_record, &entry);
    results = ask(temp.store, everything(WORK_CASES));
    assert_int_equal(1, results.rows.count);
    assert_int_equal(12345, ((struct case_row *)results.rows.items)->sent);
    message_done(&results);
    assert_int_equal(STATUS_OK, store_case_reports(temp.store, "abcd", 2, ids));
    assert_string_equal("of a", ids[END_SENDER]);
    temp_mtu(&row, "later", MTU_FORWARD, 200);
    keep(temp.store, &row);
    assert_int_equal(2, temp_count(temp.path, "SELECT max(row) FROM cases"));
    temp_store_done(&temp);
}

/* Opened once, it is as one that was made by this version. */
static void a_migrated_file_is_like_a_new_one(void **state)
{
    static const char tables[] = "SELECT count(*) FROM sqlite_master";
    static const char columns[] = "SELECT count(*) FROM pragma_table_info('cases')";
    const struct temp_store *fresh = *state;
    struct temp_store temp;

    temp_store_folder(&temp);
    make_version_1(temp.path);
    temp_store_reopen(&temp);
    assert_int_equal(temp_count(fresh->path, tables), temp_count(temp.path, tables));
    assert_int_equal(temp_count(fresh->path, columns), temp_count(temp.path, columns));
    temp_store_done(&temp);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_run_comes_back_with_its_plan),
        TEST(rows_are_listed_by_kind),
        TEST(a_row_is_replaced_and_keeps_its_number),
        TEST(the_previous_one_is_of_the_same_question),
        TEST(an_answer_that_is_none_is_nobodys_previous_one),
        TEST(the_previous_one_is_of_an_earlier_run),
        TEST(what_is_old_goes),
        TEST(a_report_is_of_its_runs_kind),
        TEST(a_file_of_version_1_goes_on),
        TEST(a_migrated_file_is_like_a_new_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
