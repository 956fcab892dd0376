/* SHA256SUMS is what sha256sum reads and writes, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/archive_sums.h"

/* sha256 of "abc" (FIPS 180-4, appendix). */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void a_line_is_as_sha256sum_writes_it(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, SUMS_BYTES);
    sums_append(&out, "run.json", "abc", 3);
    assert_string_equal(buf_peek(&out), ABC "  run.json\n");
    buf_done(&out);
}

static void what_is_written_can_be_read_and_checked(void **state)
{
    struct buf out;
    struct sums sums;
    struct fault fault = { "" };

    (void)state;
    buf_init(&out, SUMS_BYTES);
    sums_append(&out, "run.json", "abc", 3);
    sums_append(&out, "loss.svg", "", 0);
    assert_int_equal(sums_parse(buf_peek(&out), out.length, "p", &sums, &fault), STATUS_OK);
    assert_int_equal(sums.count, 2);
    assert_null(sums_find(&sums, "other"));
    assert_non_null(sums_find(&sums, "loss.svg"));
    assert_int_equal(sums_check(sums_find(&sums, "run.json"), "abc", 3, "p", &fault), STATUS_OK);
    assert_int_equal(sums_check(sums_find(&sums, "run.json"), "abd", 3, "p/run.json", &fault),
                     STATUS_CORRUPT);
    assert_non_null(strstr(fault.text, "p/run.json: its SHA-256 is a52d159f262b..."));
    buf_done(&out);
}

static void binary_mode_is_accepted(void **state)
{
    struct sums sums;

    (void)state;
    assert_int_equal(sums_parse(ABC " *x\n", 68, "p", &sums, NULL), STATUS_OK);
    assert_string_equal(sums.entry[0].name, "x");
}

static void other_forms_are_refused_with_their_line(void **state)
{
    static const char *const bad[] = {
        "x\n",
        ABC "\n",
        ABC "  \n",
        ABC " x\n",
        ABC "  x",
        ABC "   ../x/\n",
        "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD  x\n",
        "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  x\n",
        "\\" ABC "  x\n",
        ABC "  a/b\n",
        ABC "  /etc/passwd\n",
        ABC "  ..\n",
        ABC "  .hidden\n",
        ABC "  a\\b\n",
        ABC "  x\r\n",
        ABC "  \x1b[2J\n",
        ABC "  SHA256SUMS\n",
        ABC "  ok\n",
        "\n",
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sums sums = { .count = 77 };
        struct fault fault = { "" };
        int length = snprintf(text, sizeof text, "%s  ok\n%s", ABC, bad[i]);

        assert_int_equal(sums_parse(text, (size_t)length, "p/SHA256SUMS", &sums, &fault),
                         STATUS_INVALID);
        assert_memory_equal(fault.text, "p/SHA256SUMS: line 2: ", 22);
        assert_int_equal(sums.count, 77);
    }
}

static void too_many_files_are_refused(void **state)
{
    struct buf out;
    struct sums sums;
    char name[32];

    (void)state;
    buf_init(&out, SUMS_BYTES);
    for (int i = 0; i <= SUMS_MAX; i++) {
        snprintf(name, sizeof name, "f%d", i);
        sums_append(&out, name, "", 0);
        assert_int_equal(sums_parse(buf_peek(&out), out.length, "p", &sums, NULL),
                         i < SUMS_MAX ? STATUS_OK : STATUS_INVALID);
    }
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_as_sha256sum_writes_it),
        cmocka_unit_test(what_is_written_can_be_read_and_checked),
        cmocka_unit_test(binary_mode_is_accepted),
        cmocka_unit_test(other_forms_are_refused_with_their_line),
        cmocka_unit_test(too_many_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
