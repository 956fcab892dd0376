/* What was said to be put is there exactly once, whatever happens to disk, file and process. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "agent/spool.h"
#include "tests/agent/faulty_disk.h"

enum { MIB = 1 << 20, SMALL = 1000 };

/* A folder of its own for each test. */
struct place {
    char folder[64], path[128];
    struct spool *spool;
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    assert_non_null(place);
    snprintf(place->folder, sizeof place->folder, "/tmp/test-spool-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/spool.sqlite", place->folder);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
    struct place *place = *state;
    char path[160];

    faulty_disk_heal();
    spool_close(place->spool);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", place->path, endings[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(place->folder), 0);
    free(place);
    return 0;
}

static void open_spool(struct place *place, int64_t max_bytes)
{
    struct fault fault = { "" };

    if (spool_open(place->path, max_bytes, &place->spool, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void close_spool(struct place *place)
{
    spool_close(place->spool);
    place->spool = NULL;
}

static enum status put(struct spool *spool, unsigned number, size_t length, struct fault *fault)
{
    struct message_result result = { .type = MESSAGE_RESULT, .kind = "report" };
    enum status status;

    snprintf(result.id, sizeof result.id, "%036u", number);
    result.body.data = malloc(length + 1);
    assert_non_null(result.body.data);
    memset(result.body.data, (int)(number & 0xff), length);
    result.body.length = length;
    status = spool_put(spool, &result, fault);
    free(result.body.data);
    return status;
}

static void must_put(struct place *place, unsigned number, size_t length)
{
    struct fault fault = { "" };

    if (put(place->spool, number, length, &fault) != STATUS_OK)
        fail_msg("%u: %s", number, fault.text);
}

/* The next one behind *place, which must be whole; false at the end. */
static bool next(struct spool *spool, int64_t *place, unsigned *out_number, size_t *out_length)
{
    struct message_result result;
    struct fault fault = { "" };
    enum status status;

    message_init(&result, MESSAGE_RESULT);
    status = spool_next(spool, *place, &result, place, &fault);
    if (status == STATUS_NOT_FOUND)
        return false;
    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_string_equal(result.kind, "report");
    *out_number = (unsigned)strtoul(result.id, NULL, 10);
    *out_length = result.body.length;
    for (size_t i = 0; i < result.body.length; i++)
        assert_int_equal(result.body.data[i], *out_number & 0xff);
    message_done(&result);
    return true;
}

static void assert_holds(struct place *place, unsigned first, unsigned last, size_t length)
{
    struct spool_report report;
    size_t found_length;
    unsigned found;
    int64_t at = 0;

    for (unsigned number = first; number <= last; number++) {
        assert_true(next(place->spool, &at, &found, &found_length));
        assert_int_equal(found, number);
        assert_int_equal(found_length, length);
    }
    assert_false(next(place->spool, &at, &found, &found_length));
    spool_report(place->spool, &report);
    assert_int_equal(report.waiting, last + 1 - first);
    assert_int_equal(report.bytes, (last + 1 - first) * length);
}

static void assert_dropped(struct place *place, int64_t dropped)
{
    struct spool_report report;

    spool_report(place->spool, &report);
    assert_int_equal(report.dropped, dropped);
}

static void forget(struct place *place, const unsigned *numbers, size_t count)
{
    char ids[8][UUID_SIZE];
    char *words[8];
    struct list list = { .items = words, .count = count };
    struct fault fault = { "" };

    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "%036u", numbers[i]);
        words[i] = ids[i];
    }
    if (spool_forget(place->spool, &list, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* Runs SQL on the file as somebody else. */
static void as_somebody_else(const struct place *place, const char *text)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(place->path, &database), SQLITE_OK);
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* Opening must fail so, with these words. */
static void assert_refused(struct place *place, enum status expected, const char *said)
{
    struct fault fault = { "" };
    enum status status = spool_open(place->path, MIB, &place->spool, &fault);

    assert_null(place->spool);
    if (status != expected || strstr(fault.text, said) == NULL ||
        strstr(fault.text, place->path) == NULL)
        fail_msg("%s (%s)", fault.text, status_text(status));
}

/* --- order, repeats, totals --- */

static void results_come_back_in_order_also_after_reopening(void **state)
{
    struct place *place = *state;
    struct stat info;

    open_spool(place, MIB);
    assert_holds(place, 1, 0, 0);
    for (unsigned i = 1; i <= 20; i++)
        must_put(place, i, SMALL);
    assert_holds(place, 1, 20, SMALL);
    close_spool(place);
    open_spool(place, MIB);
    assert_holds(place, 1, 20, SMALL);
    assert_dropped(place, 0);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void an_id_is_taken_once(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };

    open_spool(place, MIB);
    must_put(place, 7, SMALL);
    assert_int_equal(put(place->spool, 7, 10, &fault), STATUS_EXISTS);
    assert_non_null(strstr(fault.text, "there already"));
    assert_holds(place, 7, 7, SMALL);
}

static void bodies_may_be_empty_and_as_large_as_a_result(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };
    size_t length;
    unsigned number;
    int64_t at = 0;

    open_spool(place, 4 * MIB);
    must_put(place, 1, 0);
    must_put(place, 2, LIMIT_RESULT_BYTES);
    assert_int_equal(put(place->spool, 3, LIMIT_RESULT_BYTES + 1, &fault), STATUS_TOO_LARGE);
    assert_true(next(place->spool, &at, &number, &length));
    assert_int_equal(length, 0);
    assert_true(next(place->spool, &at, &number, &length));
    assert_int_equal(length, LIMIT_RESULT_BYTES);
    assert_false(next(place->spool, &at, &number, &length));
}

static void what_is_forgotten_is_gone_and_unknown_ids_do_not_matter(void **state)
{
    static const unsigned some[] = { 1, 99, 2, 1 }, all[] = { 3, 4 };
    struct place *place = *state;

    open_spool(place, MIB);
    for (unsigned i = 1; i <= 4; i++)
        must_put(place, i, SMALL);
    forget(place, some, 4);
    assert_holds(place, 3, 4, SMALL);
    forget(place, all, 2);
    forget(place, all, 0);
    assert_holds(place, 1, 0, 0);
    must_put(place, 1, SMALL);
    assert_holds(place, 1, 1, SMALL);
}

static void a_place_is_never_used_twice(void **state)
{
    static const unsigned last = 1;
    struct place *place = *state;
    int64_t first = 0, second = 0;
    unsigned number;
    size_t length;

    open_spool(place, MIB);
    must_put(place, 1, SMALL);
    assert_true(next(place->spool, &first, &number, &length));
    forget(place, &last, 1);
    must_put(place, 2, SMALL);
    assert_true(next(place->spool, &second, &number, &length));
    assert_true(second > first);
}

/* --- too many --- */

static void the_oldest_are_dropped_and_counted_in_the_file(void **state)
{
    struct place *place = *state;

    open_spool(place, 10 * SMALL);
    for (unsigned i = 1; i <= 25; i++)
        must_put(place, i, SMALL);
    assert_holds(place, 16, 25, SMALL);
    assert_dropped(place, 15);
    close_spool(place);
    open_spool(place, 4 * SMALL); /* the new configuration allows less */
    assert_holds(place, 22, 25, SMALL);
    assert_dropped(place, 21);
    close_spool(place);
    open_spool(place, MIB);
    assert_dropped(place, 21);
}

static void a_result_above_the_whole_spool_drops_nothing(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };

    open_spool(place, 3 * SMALL);
    must_put(place, 1, SMALL);
    assert_int_equal(put(place->spool, 2, 3 * SMALL + 1, &fault), STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, "3001 bytes; at most 3000"));
    assert_holds(place, 1, 1, SMALL);
    must_put(place, 3, 3 * SMALL);
    assert_holds(place, 3, 3, 3 * SMALL);
    assert_dropped(place, 1);
}

/* --- the disk and other processes --- */

static void a_full_disk_is_said_and_drops_nothing(void **state)
{
    struct place *place = *state;
    struct fault fault = { "" };

    open_spool(place, 10 * SMALL);
    for (unsigned i = 1; i <= 10; i++)
        must_put(place, i, SMALL);
    faulty_disk_fail(0, SQLITE_FULL);
    assert_int_equal(put(place->spool, 11, SMALL, &fault), STATUS_NO_SPACE);
    assert_non_null(strstr(fault.text, place->path));
    faulty_disk_heal();
    assert_holds(place, 1, 10, SMALL);
    assert_dropped(place, 0);
    must_put(place, 11, SMALL);
    assert_holds(place, 2, 11, SMALL);
    assert_dropped(place, 1);
}

/* Each write and sync of a change fails in turn: it is said, all or nothing has happened, and
 * later the same change succeeds. */
static void any_failing_write_is_said_and_changes_nothing(void **state)
{
    static const int codes[] = { SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC };
    struct place *place = *state;
    unsigned number = 10;

    open_spool(place, 10 * 5 * SMALL);
    for (unsigned i = 1; i <= 10; i++)
        must_put(place, i, 5 * SMALL);
    for (size_t kind = 0; kind < sizeof codes / sizeof codes[0]; kind++) {
        unsigned after = 0, failures = 0;
        enum status status;

        do {
            struct fault fault = { "" };

            faulty_disk_fail(after++, codes[kind]);
            status = put(place->spool, number + 1, 5 * SMALL, &fault);
            faulty_disk_heal();
            if (status != STATUS_OK) {
                failures++;
                assert_int_equal(status, kind == 0 ? STATUS_NO_SPACE : STATUS_IO);
                assert_holds(place, number - 9, number, 5 * SMALL);
                assert_dropped(place, number - 10);
            }
        } while (status != STATUS_OK);
        number++;
        assert_true(failures > 0);
        assert_holds(place, number - 9, number, 5 * SMALL);
        assert_dropped(place, number - 10);
    }
}

static void a_locked_file_is_for_later(void **state)
{
    struct place *place = *state;
    struct timespec start, end;
    struct fault fault = { "" };
    sqlite3 *other;

    open_spool(place, MIB);
    must_put(place, 1, SMALL);
    assert_int_equal(sqlite3_open(place->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(put(place->spool, 2, SMALL, &fault), STATUS_AGAIN);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < 3); /* it waits for 50 ms; machines may be slow */
    assert_non_null(strstr(fault.text, "locked"));
    assert_holds(place, 1, 1, SMALL); /* reading is not held up */
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    must_put(place, 2, SMALL);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_holds(place, 1, 2, SMALL);
}

/* --- files that are none of ours --- */

static void write_file(const struct place *place, const void *bytes, size_t length)
{
    FILE *file = fopen(place->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const struct place *place, char *out_bytes, size_t size)
{
    FILE *file = fopen(place->path, "rb");
    size_t length;

    assert_non_null(file);
    length = fread(out_bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return length;
}

static void a_foreign_file_is_refused_and_not_touched(void **state)
{
    static const char text[] =
        "controller:\n  address: localhost:7862\n# a long enough text, which "
        "is no SQLite file at all but a configuration of something";
    static char before[64 << 10], after[64 << 10];
    struct place *place = *state;
    size_t length;

    write_file(place, text, sizeof text);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(read_file(place, after, sizeof after), sizeof text);
    assert_memory_equal(after, text, sizeof text);
    write_file(place, text, 3);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(unlink(place->path), 0);

    as_somebody_else(place, "PRAGMA application_id=7; CREATE TABLE result (x)");
    length = read_file(place, before, sizeof before);
    assert_refused(place, STATUS_INVALID, "another kind");
    assert_int_equal(read_file(place, after, sizeof after), length);
    assert_memory_equal(before, after, length);
    assert_int_equal(unlink(place->path), 0);

    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_refused(place, STATUS_INVALID, "another kind");
}

static void a_missing_folder_is_named_and_not_made(void **state)
{
    struct place *place = *state;
    char kept[sizeof place->path];

    memcpy(kept, place->path, sizeof kept);
    snprintf(place->path, sizeof place->path, "%s/none/spool.sqlite", place->folder);
    assert_refused(place, STATUS_NOT_FOUND, "folder does not exist");
    memcpy(place->path, kept, sizeof kept);
}

static void a_newer_form_is_refused(void **state)
{
    struct place *place = *state;

    open_spool(place, MIB);
    close_spool(place);
    as_somebody_else(place, "PRAGMA user_version=2");
    assert_refused(place, STATUS_UNSUPPORTED, "version 2");
}

static void a_damaged_file_is_said_so(void **state)
{
    struct place *place = *state;
    char junk[4096];
    FILE *file;

    open_spool(place, MIB);
    for (unsigned i = 1; i <= 100; i++)
        must_put(place, i, SMALL);
    close_spool(place);
    memset(junk, 0x5a, sizeof junk);
    file = fopen(place->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8 * 4096, SEEK_SET), 0);
    assert_int_equal(fwrite(junk, 1, sizeof junk, file), sizeof junk);
    assert_int_equal(fclose(file), 0);
    assert_refused(place, STATUS_CORRUPT, "is damaged");

    assert_int_equal(truncate(place->path, 4096), 0);
    assert_refused(place, STATUS_CORRUPT, "is damaged");
}

static void rows_that_are_no_results_are_damage(void **state)
{
    struct place *place = *state;
    struct message_result result;
    struct fault fault = { "" };
    int64_t at = 0;

    open_spool(place, MIB);
    close_spool(place);
    as_somebody_else(place, "INSERT INTO result (id, kind, body)"
                            " VALUES (printf('%0200d', 1), 'report', x'00')");
    open_spool(place, MIB);
    message_init(&result, MESSAGE_RESULT);
    assert_int_equal(spool_next(place->spool, 0, &result, &at, &fault), STATUS_CORRUPT);
    assert_non_null(strstr(fault.text, "holds no result"));
    message_done(&result);
    close_spool(place);
    as_somebody_else(place, "DROP TABLE result");
    assert_refused(place, STATUS_CORRUPT, "no such table");
}

static void an_interrupted_making_is_made_again(void **state)
{
    struct place *place = *state;

    write_file(place, "", 0);
    open_spool(place, MIB);
    must_put(place, 1, SMALL);
    assert_holds(place, 1, 1, SMALL);
}

/* --- killed --- */

/* Puts results for ever, saying each number on `said` once it is durable. */
static void put_until_killed(const struct place *place, unsigned first, int said)
{
    struct spool *spool;

    if (spool_open(place->path, 20 * SMALL, &spool, NULL) != STATUS_OK)
        _exit(1);
    for (unsigned number = first;; number++) {
        if (put(spool, number, SMALL, NULL) != STATUS_OK ||
            write(said, &number, sizeof number) != sizeof number)
            _exit(1);
    }
}

/* Everything up to `said` was put, of which the oldest were dropped; the next may be there too. */
static unsigned check_after_kill(struct place *place, unsigned said)
{
    struct spool_report report;
    unsigned number = 0, last = 0;
    int64_t at = 0, waiting = 0;
    size_t length;

    open_spool(place, 20 * SMALL);
    spool_report(place->spool, &report);
    while (next(place->spool, &at, &number, &length)) {
        if (waiting++ > 0)
            assert_int_equal(number, last + 1);
        last = number;
    }
    assert_int_equal(report.waiting, waiting);
    assert_int_equal(report.bytes, waiting * SMALL);
    assert_int_equal(report.waiting + report.dropped, last);
    assert_in_range(last, said, said + 1);
    close_spool(place);
    return last;
}

static void killed_at_any_moment_nothing_is_lost_or_there_twice(void **state)
{
    struct place *place = *state;
    unsigned seed = (unsigned)getpid(), last = 0;

    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < 25; round++) {
        struct timespec pause = { .tv_nsec = random() % 30000000 };
        unsigned said = last, number;
        int ends[2], how;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            put_until_killed(place, last + 1, ends[1]);
        close(ends[1]);
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        while (read(ends[0], &number, sizeof number) == sizeof number)
            said = number;
        close(ends[0]);
        last = check_after_kill(place, said);
    }
    assert_true(last > 25);
}

#define HERE(TEST) cmocka_unit_test_setup_teardown(TEST, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(results_come_back_in_order_also_after_reopening),
        HERE(an_id_is_taken_once),
        HERE(bodies_may_be_empty_and_as_large_as_a_result),
        HERE(what_is_forgotten_is_gone_and_unknown_ids_do_not_matter),
        HERE(a_place_is_never_used_twice),
        HERE(the_oldest_are_dropped_and_counted_in_the_file),
        HERE(a_result_above_the_whole_spool_drops_nothing),
        HERE(a_full_disk_is_said_and_drops_nothing),
        HERE(any_failing_write_is_said_and_changes_nothing),
        HERE(a_locked_file_is_for_later),
        HERE(a_foreign_file_is_refused_and_not_touched),
        HERE(a_missing_folder_is_named_and_not_made),
        HERE(a_newer_form_is_refused),
        HERE(a_damaged_file_is_said_so),
        HERE(rows_that_are_no_results_are_damage),
        HERE(an_interrupted_making_is_made_again),
        HERE(killed_at_any_moment_nothing_is_lost_or_there_twice),
    };

    faulty_disk_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
