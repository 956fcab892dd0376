/* What goes wrong around a store: other programs' locks, kill -9, a full disk, a long reader.
 * Nothing of a batch is lost, and nothing is said to be stored that is not. */
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/digest.h"
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

static void open_store(struct temp_store *temp)
{
    temp->store = NULL;
    temp_store_reopen(temp);
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS }, NULL);
}

static sqlite3 *other_program(const char *path)
{
    sqlite3 *db;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &db));
    return db;
}

static enum status commit(struct store *store)
{
    struct list ids = { NULL, 0 };
    struct fault fault = { "" };
    enum status status = store_commit(store, &ids, &fault);

    assert_true(status == STATUS_OK || (fault.text[0] != '\0' && ids.count == 0));
    store_ids_done(&ids);
    return status;
}

/* Adds `count` results with bodies of their own, numbered from `first`. */
static void add_many(struct store *store, uint64_t first, uint64_t count, const char *more)
{
    for (uint64_t i = first; i < first + count; i++) {
        char id[UUID_SIZE], *body = test_malloc(strlen(more) + 32);

        snprintf(body, strlen(more) + 32, "%llu %s", (unsigned long long)i, more);
        temp_id(i, id);
        temp_add(store, "a", id, "note", body);
        test_free(body);
    }
}

/* --- locks ----------------------------------------------------------------------------------- */

static void every_writer_waits_for_the_lock_of_another(void **state)
{
    struct temp_store *temp = *state;
    struct fault fault = { "" };
    struct case_row row;
    struct run_end end = { "abcd", NULL, RUN_COMPLETE, { 0 } };
    int64_t count = 7;
    sqlite3 *other;

    open_store(temp);
    other = other_program(temp->path);
    temp_run(temp->store, "abcd", 100);
    temp_case(&row, "abcd", 0, 100);
    add_many(temp->store, 0, 3, "");
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    assert_int_equal(STATUS_AGAIN, commit(temp->store));
    assert_int_equal(STATUS_AGAIN, store_case(temp->store, &row, &fault));
    assert_non_null(strstr(fault.text, "locked"));
    assert_int_equal(STATUS_AGAIN, store_run_end(temp->store, &end, &fault));
    assert_int_equal(STATUS_AGAIN, store_end_orphans(temp->store, "x", (struct wall){ 0 }, &fault));
    assert_int_equal(STATUS_AGAIN,
                     store_retain(temp->store, (struct wall){ INT64_MAX }, &count, &fault));
    assert_int_equal(7, count);
    assert_int_equal(3, store_pending(temp->store));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL));
    assert_int_equal(STATUS_OK, store_case(temp->store, &row, &fault));
    assert_int_equal(3, temp_commit(temp->store));
    sqlite3_close(other);
}

/* A child that reads all the while, until it is killed. */
static pid_t start_reader(const char *path)
{
    pid_t child = fork();

    if (child == 0) {
        for (;;)
            temp_count(path, "SELECT sum(length(body)) FROM results");
    }
    return child;
}

/* And one that keeps everybody from writing for a while. */
static pid_t start_locker(const char *path, int64_t ms)
{
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(0, pipe(ready));
    child = fork();
    if (child == 0) {
        sqlite3 *db = other_program(path);

        sqlite3_busy_timeout(db, 10000);
        if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
            _exit(1);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause_ms(ms);
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    return child;
}

static void a_lock_of_three_seconds_and_a_reader_cost_nothing(void **state)
{
    struct temp_store *temp = *state;
    int64_t refused = 0;
    pid_t reader, locker;
    int status;

    open_store(temp);
    add_many(temp->store, 0, 100, "");
    assert_int_equal(100, temp_commit(temp->store));
    reader = start_reader(temp->path);
    locker = start_locker(temp->path, 3000);
    for (uint64_t batch = 1; batch <= 20; batch++) {
        add_many(temp->store, 100 * batch, 100, "");
        for (;;) {
            enum status committed = commit(temp->store);

            if (committed == STATUS_OK)
                break;
            assert_int_equal(STATUS_AGAIN, committed);
            refused++;
            pause_ms(50);
        }
    }
    assert_true(refused > 10);
    assert_int_equal(locker, waitpid(locker, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(0, waitpid(reader, &status, WNOHANG));
    kill(reader, SIGKILL);
    waitpid(reader, &status, 0);
    assert_int_equal(2100, temp_count(temp->path, "SELECT count(*) FROM results"));
}

static void a_second_controller_is_kept_out(void **state)
{
    struct temp_store *temp = *state;
    pid_t child;
    int status;

    open_store(temp);
    child = fork();
    if (child == 0) {
        struct store *store;
        struct fault fault = { "" };
        enum status opened = store_open(temp->path, &store, &fault);

        _exit(opened == STATUS_EXISTS && strstr(fault.text, "another controller") ? 0 : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    add_many(temp->store, 0, 1, "");
    assert_int_equal(1, temp_commit(temp->store));
}

/* --- kill -9 --------------------------------------------------------------------------------- */

enum { KILL_ROUNDS = 40, KILL_BATCH = 25 };

/* Commits batch after batch and says after each up to which number everything is stored. */
static void commit_until_killed(const char *path, uint64_t first, int report)
{
    struct temp_store temp = { .store = NULL };

    snprintf(temp.path, sizeof temp.path, "%s", path);
    temp_store_reopen(&temp);
    for (;;) {
        add_many(temp.store, first, KILL_BATCH, "body");
        first += KILL_BATCH;
        if (temp_commit(temp.store) != KILL_BATCH || write(report, &first, sizeof first) < 8)
            _exit(1);
    }
}

/* What is stored is whole batches, each id once, and all that was said to be. */
static void expect_stored(const struct temp_store *temp, uint64_t said, uint64_t *out_next)
{
    int64_t count = temp_count(temp->path, "SELECT count(*) FROM results");

    assert_true((uint64_t)count >= said);
    assert_int_equal(0, count % KILL_BATCH);
    assert_int_equal(count, temp_count(temp->path, "SELECT count(DISTINCT id) FROM results"));
    assert_int_equal(count, temp_count(temp->path, "SELECT count(*) FROM results WHERE"
                                                   " body = CAST((seq - 1) || ' body' AS BLOB)"));
    *out_next = (uint64_t)count;
}

static void what_was_said_to_be_stored_survives_a_kill(void **state)
{
    struct temp_store *temp = *state;
    uint64_t next = 0, said, number;
    uint32_t seed;

    digest_random(&seed, sizeof seed);
    print_message("seed %u\n", seed);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int report[2], status;
        pid_t child;

        assert_int_equal(0, pipe(report));
        child = fork();
        if (child == 0)
            commit_until_killed(temp->path, next, report[1]);
        close(report[1]);
        seed = seed * 1664525 + 1013904223;
        pause_ms(1 + (seed >> 8) % 60);
        kill(child, SIGKILL);
        for (said = 0; read(report[0], &number, sizeof number) == sizeof number;)
            said = number;
        close(report[0]);
        assert_int_equal(child, waitpid(child, &status, 0));
        assert_true(WIFSIGNALED(status));
        open_store(temp);
        expect_stored(temp, said, &next);
        store_close(temp->store);
        temp->store = NULL;
    }
    assert_true(next > 0);
}

/* --- a full disk ----------------------------------------------------------------------------- */

static char *kibibytes(size_t count)
{
    char *text = test_malloc(count * 1024 + 1);

    memset(text, 'x', count * 1024);
    text[count * 1024] = '\0';
    return text;
}

/* What a failed test may have left mounted goes first. */
static int unmount(void **state)
{
    const struct temp_store *temp = *state;
    char command[200];

    snprintf(command, sizeof command, "umount -l %s 2>/dev/null", temp->folder);
    return system(command) < 0 ? -1 : teardown(state);
}

/* Adds and commits until it does not go any more; what is pending then has not been stored. */
static enum status fill_up(struct temp_store *temp, uint64_t *count)
{
    char *body = kibibytes(16);
    enum status status = STATUS_OK;

    for (int i = 0; i < 1000 && status == STATUS_OK; i++, *count += 8) {
        add_many(temp->store, *count, 8, body);
        status = commit(temp->store);
    }
    test_free(body);
    return status;
}

static void a_full_disk_loses_nothing(void **state)
{
    struct temp_store *temp = *state;
    char command[200];
    uint64_t count = 0;

    snprintf(command, sizeof command, "mount -t tmpfs -o size=1m tmpfs %s 2>/dev/null",
             temp->folder);
    if (system(command) != 0)
        skip();
    open_store(temp);
    assert_int_equal(STATUS_NO_SPACE, fill_up(temp, &count));
    assert_int_equal(8, store_pending(temp->store));
    assert_int_equal(STATUS_NO_SPACE, commit(temp->store));
    assert_int_equal(8, store_pending(temp->store));
    assert_int_equal(count - 8, temp_count(temp->path, "SELECT count(*) FROM results"));
    snprintf(command, sizeof command, "mount -o remount,size=32m tmpfs %s", temp->folder);
    assert_int_equal(0, system(command));
    assert_int_equal(8, temp_commit(temp->store));
    temp_store_reopen(temp);
    assert_int_equal(count, temp_count(temp->path, "SELECT count(*) FROM results"));
    store_close(temp->store);
    temp->store = NULL;
}

/* The same where nobody may mount: writes fail (EFBIG) above a size. */
static void writes_that_fail_lose_nothing(void **state)
{
    struct temp_store *temp = *state;
    struct rlimit before, small;
    uint64_t count = 0;
    enum status status;

    signal(SIGXFSZ, SIG_IGN);
    open_store(temp);
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = 1 << 20;
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    status = fill_up(temp, &count);
    assert_true(status == STATUS_IO || status == STATUS_NO_SPACE);
    assert_int_equal(8, store_pending(temp->store));
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &before));
    assert_int_equal(8, temp_commit(temp->store));
    temp_store_reopen(temp);
    assert_int_equal(count, temp_count(temp->path, "SELECT count(*) FROM results"));
}

/* --- the WAL --------------------------------------------------------------------------------- */

static void commit_mebibytes(struct temp_store *temp, uint64_t first, int mebibytes)
{
    char *body = kibibytes(64);

    for (int i = 0; i < mebibytes; i++) {
        add_many(temp->store, first + (uint64_t)i * 16, 16, body);
        assert_int_equal(16, temp_commit(temp->store));
        assert_true(temp_size(temp, "-wal") >= 0);
    }
    test_free(body);
}

static void the_wal_stays_short_and_is_cut_after_a_long_reader(void **state)
{
    struct temp_store *temp = *state;
    sqlite3 *reader;

    open_store(temp);
    for (int i = 0; i < 6; i++) {
        commit_mebibytes(temp, (uint64_t)i * 1000, 8);
        assert_true(temp_size(temp, "-wal") < 32 << 20);
    }
    reader = other_program(temp->path);
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(reader, "BEGIN; SELECT * FROM agents", NULL, NULL, NULL));
    commit_mebibytes(temp, 10000, 40);
    assert_true(temp_size(temp, "-wal") > 32 << 20); /* that is the reader's doing */
    sqlite3_close(reader);
    commit_mebibytes(temp, 20000, 2);
    assert_true(temp_size(temp, "-wal") <= 16 << 20);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_writer_waits_for_the_lock_of_another),
        TEST(a_lock_of_three_seconds_and_a_reader_cost_nothing),
        TEST(a_second_controller_is_kept_out),
        TEST(what_was_said_to_be_stored_survives_a_kill),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing, setup, unmount),
        TEST(writes_that_fail_lose_nothing),
        TEST(the_wal_stays_short_and_is_cut_after_a_long_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
