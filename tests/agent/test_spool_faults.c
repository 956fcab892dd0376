/* What was said to be put is there exactly once, whatever happens to disk and process. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "tests/agent/faulty_disk.h"
#include "tests/agent/probe/chance.h"
#include "tests/agent/spool_place.h"

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
    struct chance chance = chance_start(__func__);
    unsigned last = 0;

    for (int round = 0; round < 25; round++) {
        struct timespec pause = { .tv_nsec = (long)chance_below(&chance, 30000000) };
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
        HERE(a_full_disk_is_said_and_drops_nothing),
        HERE(any_failing_write_is_said_and_changes_nothing),
        HERE(a_locked_file_is_for_later),
        HERE(killed_at_any_moment_nothing_is_lost_or_there_twice),
    };

    faulty_disk_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
