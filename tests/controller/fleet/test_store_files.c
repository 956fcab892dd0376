/* Files that a store finds where it is to be: what is not ours is left alone, what is empty becomes
 * one, what others may not read they cannot. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "proto/base/file.h"
#include "tests/controller/fleet/temp_store.h"

static int setup(void **state)
{
    static struct temp_store temp;

    temp_store_folder(&temp);
    *state = &temp;
    return 0;
}

static int teardown(void **state)
{
    temp_store_done(*state);
    return 0;
}

static void read_file(const char *path, struct buf *out_bytes)
{
    struct fault fault;

    buf_init(out_bytes, 1 << 24);
    assert_int_equal(STATUS_OK, file_read(path, out_bytes, &fault));
}

static void expect_refused(struct temp_store *temp, enum status expected, const char *words)
{
    struct store *store;
    struct fault fault = { "" };
    struct buf before, after;

    read_file(temp->path, &before);
    assert_int_equal(expected, store_open(temp->path, &store, &fault));
    if (strstr(fault.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, words);
    read_file(temp->path, &after);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.data, after.data, before.length);
    buf_done(&before);
    buf_done(&after);
}

static void what_is_no_database_is_left_alone(void **state)
{
    static const char text[] = "# not a database, but long enough to be taken for one at first "
                               "sight: a header has 100 bytes, and this line has more than that.\n";
    struct temp_store *temp = *state;
    struct fault fault;

    assert_int_equal(STATUS_OK, file_write_whole(temp->path, text, sizeof text, &fault));
    expect_refused(temp, STATUS_INVALID, "not a database");
}

static void another_program_s_database_is_left_alone(void **state)
{
    struct temp_store *temp = *state;

    temp_sql(temp->path, "CREATE TABLE bookmarks (url TEXT)");
    expect_refused(temp, STATUS_INVALID, "another program");
    temp_sql(temp->path, "PRAGMA application_id = 1234; DROP TABLE bookmarks");
    expect_refused(temp, STATUS_INVALID, "another program");
    temp_sql(temp->path, "PRAGMA application_id = 0; PRAGMA user_version = 3");
    expect_refused(temp, STATUS_INVALID, "another program");
}

/* Also when its last changes are still in its WAL: closing would bring them into the file. */
static void another_program_s_wal_is_left_alone(void **state)
{
    struct temp_store *temp = *state;
    sqlite3 *other;
    int64_t wal;

    assert_int_equal(SQLITE_OK, sqlite3_open(temp->path, &other));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "PRAGMA journal_mode = WAL; CREATE TABLE t (x)",
                                             NULL, NULL, NULL));
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(other);
    wal = temp_size(temp, "-wal");
    assert_true(wal > 0);
    expect_refused(temp, STATUS_INVALID, "another program");
    assert_int_equal(wal, temp_size(temp, "-wal"));
}

static void a_later_version_is_left_alone(void **state)
{
    struct temp_store *temp = *state;

    temp_store_reopen(temp);
    store_close(temp->store);
    temp->store = NULL;
    temp_sql(temp->path, "PRAGMA user_version = 99");
    expect_refused(temp, STATUS_UNSUPPORTED, "version 99");
}

static void a_place_that_does_not_exist_is_named(void **state)
{
    struct temp_store *temp = *state;
    struct store *store;
    struct fault fault = { "" };

    assert_int_equal(STATUS_NOT_FOUND, store_open("/nowhere/at/all", &store, &fault));
    assert_non_null(strstr(fault.text, "/nowhere/at/all"));
    fault.text[0] = '\0';
    assert_true(store_open(temp->folder, &store, &fault) != STATUS_OK);
    assert_non_null(strstr(fault.text, temp->folder));
}

/* What a killed first start leaves. */
static void an_empty_file_becomes_a_store(void **state)
{
    struct temp_store *temp = *state;
    struct fault fault;

    assert_int_equal(STATUS_OK, file_write_whole(temp->path, "", 0, &fault));
    temp_store_reopen(temp);
    temp_add(temp->store, "a", "x", "note", "1");
    assert_int_equal(1, temp_commit(temp->store));
    assert_int_equal(2, temp_count(temp->path, "PRAGMA user_version"));
}

static void others_may_not_read_it(void **state)
{
    struct temp_store *temp = *state;
    struct stat facts;

    temp_store_reopen(temp);
    assert_int_equal(0, stat(temp->path, &facts));
    assert_int_equal(0, facts.st_mode & 077);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_database_is_left_alone),
        TEST(another_program_s_database_is_left_alone),
        TEST(another_program_s_wal_is_left_alone),
        TEST(a_later_version_is_left_alone),
        TEST(a_place_that_does_not_exist_is_named),
        TEST(an_empty_file_becomes_a_store),
        TEST(others_may_not_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
