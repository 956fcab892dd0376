/* Statuses have words, errno values a status, and faults one clean line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/status.h"

static void every_status_has_its_own_words(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_non_null(status_text((enum status)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(status_text((enum status)i), status_text((enum status)j));
    }
}

static void errno_values_map_to_what_callers_act_on(void **state)
{
    (void)state;
    assert_int_equal(status_of_errno(0), STATUS_OK);
    assert_int_equal(status_of_errno(EAGAIN), STATUS_AGAIN);
    assert_int_equal(status_of_errno(EINTR), STATUS_INTERRUPTED);
    assert_int_equal(status_of_errno(ENOENT), STATUS_NOT_FOUND);
    assert_int_equal(status_of_errno(EEXIST), STATUS_EXISTS);
    assert_int_equal(status_of_errno(EACCES), STATUS_DENIED);
    assert_int_equal(status_of_errno(EROFS), STATUS_DENIED);
    assert_int_equal(status_of_errno(ENOSPC), STATUS_NO_SPACE);
    assert_int_equal(status_of_errno(EMFILE), STATUS_NO_RESOURCE);
    assert_int_equal(status_of_errno(EAFNOSUPPORT), STATUS_UNSUPPORTED);
    assert_int_equal(status_of_errno(EIO), STATUS_IO);
    assert_int_equal(status_of_errno(ELOOP), STATUS_IO);
}

static void a_fault_is_one_line_of_the_words_given(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(fault_set(&fault, STATUS_RANGE, "%s: %d", "window", 7), STATUS_RANGE);
    assert_string_equal(fault.text, "window: 7");
    assert_int_equal(fault_set(&fault, STATUS_INVALID, "a\nb\x1b[31mc\x7f\xc2\x9b"),
                     STATUS_INVALID);
    assert_string_equal(fault.text, "a?b?[31mc???");
}

static void a_fault_of_errno_names_the_cause(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(fault_errno(&fault, ENOENT, "%s", "a/b"), STATUS_NOT_FOUND);
    assert_string_equal(fault.text, "a/b: No such file or directory");
}

static void a_fault_that_is_too_long_is_cut(void **state)
{
    struct fault fault;
    char text[FAULT_TEXT_SIZE * 2];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(fault_set(&fault, STATUS_IO, "%s", text), STATUS_IO);
    assert_int_equal(strlen(fault.text), FAULT_TEXT_SIZE - 1);
    assert_int_equal(fault_errno(&fault, EIO, "%s", text), STATUS_IO);
    assert_int_equal(strlen(fault.text), FAULT_TEXT_SIZE - 1);
}

static void nobody_has_to_want_the_words(void **state)
{
    (void)state;
    assert_int_equal(fault_set(NULL, STATUS_RANGE, "x"), STATUS_RANGE);
    assert_int_equal(fault_errno(NULL, ENOENT, "x"), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_words),
        cmocka_unit_test(errno_values_map_to_what_callers_act_on),
        cmocka_unit_test(a_fault_is_one_line_of_the_words_given),
        cmocka_unit_test(a_fault_of_errno_names_the_cause),
        cmocka_unit_test(a_fault_that_is_too_long_is_cut),
        cmocka_unit_test(nobody_has_to_want_the_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
