/* A daemon's lines: with the time, or with the priority when the journal reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/clock.h"
#include "proto/base/log_daemon.h"

/* What log_daemon and one line write to a stderr that is a file; JOURNAL_STREAM names that file
 * when `journal`, else another. */
static void logged(bool journal, enum log_level level, char *out_text, size_t size)
{
    char path[] = "/tmp/sonde-log-XXXXXX", stream[80];
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    struct stat facts;
    ssize_t length;

    assert_true(file >= 0 && saved >= 0);
    assert_int_equal(0, fstat(file, &facts));
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)facts.st_dev,
             (uintmax_t)facts.st_ino + !journal);
    setenv("JOURNAL_STREAM", stream, 1);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    log_daemon(LOG_LEVEL_INFO);
    log_line(level, "line %d", 7);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    length = pread(file, out_text, size - 1, 0);
    assert_true(length >= 0);
    out_text[length] = '\0';
    close(file);
    unlink(path);
    unsetenv("JOURNAL_STREAM");
    log_to(NULL, NULL, LOG_LEVEL_INFO);
}

static void the_journal_gets_the_priority(void **state)
{
    char text[200];

    (void)state;
    logged(true, LOG_LEVEL_ERROR, text, sizeof text);
    assert_string_equal("<3>line 7\n", text);
    logged(true, LOG_LEVEL_INFO, text, sizeof text);
    assert_string_equal("<6>line 7\n", text);
}

static void everybody_else_gets_the_time(void **state)
{
    char text[200], time[WALL_TEXT_SIZE];
    struct wall parsed;

    (void)state;
    logged(false, LOG_LEVEL_WARNING, text, sizeof text);
    assert_true(strlen(text) > 20);
    snprintf(time, sizeof time, "%.20s", text);
    assert_int_equal(STATUS_OK, wall_parse(time, &parsed));
    assert_string_equal(" warning: line 7\n", text + 20);
}

static void the_level_holds(void **state)
{
    char text[200];

    (void)state;
    logged(false, LOG_LEVEL_DEBUG, text, sizeof text);
    assert_string_equal("", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_journal_gets_the_priority),
        cmocka_unit_test(everybody_else_gets_the_time),
        cmocka_unit_test(the_level_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
