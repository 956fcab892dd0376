/* A buffer grows up to its cap and not a byte further; its first failure sticks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/buf.h"

static void an_empty_buffer_reads_as_no_text(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 10);
    assert_string_equal(buf_peek(&buf), "");
    buf_append(&buf, NULL, 0);
    buf_text(&buf, "");
    buf_printf(&buf, "%s", "");
    assert_null(buf.data);
    assert_int_equal(buf_status(&buf), STATUS_OK);
    buf_done(&buf);
}

static void appends_stand_behind_each_other(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    buf_text(&buf, "ab");
    buf_append(&buf, "c\0d", 3);
    buf_printf(&buf, "-%d-%s", 42, "x");
    assert_int_equal(buf.length, 10);
    assert_memory_equal(buf_peek(&buf), "abc\0d-42-x", 11);
    buf_done(&buf);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf_peek(&buf), "");
}

static void the_cap_is_reached_exactly(void **state)
{
    struct buf buf;

    (void)state;
    for (size_t cap = 0; cap < 1100; cap++) {
        buf_init(&buf, cap);
        for (size_t i = 0; i < cap; i++)
            buf_append(&buf, "x", 1);
        assert_int_equal(buf_status(&buf), STATUS_OK);
        assert_int_equal(buf.length, cap);
        buf_printf(&buf, "y");
        assert_int_equal(buf_status(&buf), STATUS_TOO_LARGE);
        assert_int_equal(buf.length, cap);
        assert_true(buf.capacity <= cap + 1);
        buf_done(&buf);
    }
}

static void the_first_failure_sticks_and_keeps_what_was_there(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 4);
    buf_text(&buf, "abc");
    buf_text(&buf, "de");
    buf_text(&buf, "f");
    buf_printf(&buf, "%d", 1);
    assert_int_equal(buf_status(&buf), STATUS_TOO_LARGE);
    assert_string_equal(buf_peek(&buf), "abc");
    buf_done(&buf);
    buf_text(&buf, "abcd");
    assert_int_equal(buf_status(&buf), STATUS_OK);
    assert_string_equal(buf_peek(&buf), "abcd");
    buf_done(&buf);
}

static void a_length_near_the_end_of_the_range_does_not_wrap(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 1000);
    buf_text(&buf, "abc");
    buf_append(&buf, "abc", SIZE_MAX - 2);
    assert_int_equal(buf_status(&buf), STATUS_TOO_LARGE);
    assert_string_equal(buf_peek(&buf), "abc");
    buf_done(&buf);
}

static void growth_doubles(void **state)
{
    struct buf buf;
    size_t capacity = 0;
    int moves = 0;

    (void)state;
    buf_init(&buf, 1 << 20);
    for (int i = 0; i < 1 << 20; i++) {
        buf_append(&buf, "x", 1);
        moves += buf.capacity != capacity;
        capacity = buf.capacity;
    }
    assert_true(moves <= 14);
    assert_int_equal(strlen(buf_peek(&buf)), 1 << 20);
    buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_reads_as_no_text),
        cmocka_unit_test(appends_stand_behind_each_other),
        cmocka_unit_test(the_cap_is_reached_exactly),
        cmocka_unit_test(the_first_failure_sticks_and_keeps_what_was_there),
        cmocka_unit_test(a_length_near_the_end_of_the_range_does_not_wrap),
        cmocka_unit_test(growth_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
