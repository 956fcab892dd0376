/* A line reaches the sink whole, masked, and only when its level asks for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/log.h"

struct seen {
    int lines;
    enum log_level level;
    char text[2048];
};

static void remember(void *context, enum log_level level, const char *line)
{
    struct seen *seen = context;

    seen->lines++;
    seen->level = level;
    assert_true(strlen(line) < sizeof seen->text);
    memcpy(seen->text, line, strlen(line) + 1);
}

static int back_to_stderr(void **state)
{
    (void)state;
    log_to(NULL, NULL, LOG_LEVEL_INFO);
    return 0;
}

static void a_line_reaches_the_sink(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    log_to(remember, &seen, LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_WARNING, "peer %s: %d", "a", 3);
    assert_int_equal(seen.lines, 1);
    assert_int_equal(seen.level, LOG_LEVEL_WARNING);
    assert_string_equal(seen.text, "peer a: 3");
}

static void levels_above_the_one_asked_for_are_dropped(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    log_to(remember, &seen, LOG_LEVEL_WARNING);
    log_line(LOG_LEVEL_DEBUG, "no");
    log_line(LOG_LEVEL_INFO, "no");
    assert_int_equal(seen.lines, 0);
    log_line(LOG_LEVEL_WARNING, "yes");
    log_line(LOG_LEVEL_ERROR, "yes");
    assert_int_equal(seen.lines, 2);
}

static void the_level_changes_while_the_sink_stays(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    log_to(remember, &seen, LOG_LEVEL_WARNING);
    log_up_to(LOG_LEVEL_DEBUG);
    log_line(LOG_LEVEL_DEBUG, "yes");
    log_up_to(LOG_LEVEL_ERROR);
    log_line(LOG_LEVEL_WARNING, "no");
    assert_int_equal(seen.lines, 1);
}

static void control_bytes_are_masked(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    log_to(remember, &seen, LOG_LEVEL_DEBUG);
    log_line(LOG_LEVEL_DEBUG, "%s", "a\nsonde: error: forged\r\x1b[2J \xc3\xa9 \xff");
    assert_string_equal(seen.text, "a?sonde: error: forged??[2J \xc3\xa9 ?");
}

static void a_line_that_is_too_long_says_that_it_is_cut(void **state)
{
    struct seen seen = { 0 };
    char text[4096];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    log_to(remember, &seen, LOG_LEVEL_DEBUG);
    log_line(LOG_LEVEL_ERROR, "%s", text);
    assert_int_equal(strlen(seen.text), 1023);
    assert_string_equal(seen.text + 1019, "x...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_reaches_the_sink, back_to_stderr),
        cmocka_unit_test_teardown(levels_above_the_one_asked_for_are_dropped, back_to_stderr),
        cmocka_unit_test_teardown(the_level_changes_while_the_sink_stays, back_to_stderr),
        cmocka_unit_test_teardown(control_bytes_are_masked, back_to_stderr),
        cmocka_unit_test_teardown(a_line_that_is_too_long_says_that_it_is_cut, back_to_stderr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
