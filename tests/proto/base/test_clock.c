/* Monotonic time never goes back and never wraps; wall time reads and writes RFC 3339. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <time.h>

#include "proto/base/clock.h"

static void monotonic_time_never_goes_back(void **state)
{
    struct mono before = mono_now();

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct mono now = mono_now();

        assert_true(mono_between(before, now) >= 0);
        before = now;
    }
}

static void monotonic_time_is_finer_than_a_microsecond(void **state)
{
    bool fraction = false;

    (void)state;
    for (int i = 0; i < 1000 && !fraction; i++)
        fraction = mono_now().ns % NS_PER_US != 0;
    assert_true(fraction);
}

static void differences_are_signed(void **state)
{
    struct mono a = { 100 }, b = { 350 };

    (void)state;
    assert_int_equal(mono_between(a, b), 250);
    assert_int_equal(mono_between(b, a), -250);
    assert_int_equal(mono_after(a, 250).ns, 350);
    assert_int_equal(mono_after(b, -250).ns, 100);
}

static void the_ends_of_the_range_do_not_wrap(void **state)
{
    struct mono first = { INT64_MIN }, last = { INT64_MAX };

    (void)state;
    assert_true(mono_between(first, last) == INT64_MAX);
    assert_true(mono_between(last, first) == INT64_MIN);
    assert_true(mono_after(last, 1).ns == INT64_MAX);
    assert_true(mono_after(first, -1).ns == INT64_MIN);
}

static void assert_formats(int64_t ns, const char *full, const char *compact)
{
    char text[WALL_TEXT_SIZE];

    wall_format((struct wall){ ns }, text);
    assert_string_equal(text, full);
    wall_format_compact((struct wall){ ns }, text);
    assert_string_equal(text, compact);
}

static void wall_time_is_written_in_utc(void **state)
{
    (void)state;
    assert_int_equal(setenv("TZ", "Pacific/Kiritimati", 1), 0);
    tzset();
    setlocale(LC_ALL, "");
    assert_formats(0, "1970-01-01T00:00:00Z", "19700101T000000Z");
    assert_formats(INT64_C(1796064250) * NS_PER_S, "2026-11-30T18:44:10Z", "20261130T184410Z");
    assert_formats(INT64_C(951782400) * NS_PER_S, "2000-02-29T00:00:00Z", "20000229T000000Z");
    assert_formats(-1, "1969-12-31T23:59:59Z", "19691231T235959Z");
    assert_formats(INT64_MAX, "2262-04-11T23:47:16Z", "22620411T234716Z");
    assert_formats(INT64_MIN, "1677-09-21T00:12:43Z", "16770921T001243Z");
}

static int64_t parsed(const char *text)
{
    struct wall time;

    assert_int_equal(wall_parse(text, &time), STATUS_OK);
    return time.ns;
}

static void what_is_written_is_read_back(void **state)
{
    char text[WALL_TEXT_SIZE];

    (void)state;
    for (int64_t seconds = INT64_C(-9000000000); seconds < INT64_C(9000000000);
         seconds += 1234567) {
        wall_format((struct wall){ seconds * NS_PER_S }, text);
        assert_true(parsed(text) == seconds * NS_PER_S);
    }
}

static void fractions_are_kept_to_the_nanosecond(void **state)
{
    (void)state;
    assert_int_equal(parsed("1970-01-01T00:00:01.5Z"), 1500000000);
    assert_int_equal(parsed("1970-01-01T00:00:00.000000001Z"), 1);
    assert_int_equal(parsed("1970-01-01T00:00:00.0000000019Z"), 1);
    assert_int_equal(parsed("1969-12-31T23:59:59.25Z"), -750000000);
}

static void other_forms_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11-30",
        "2026-11-30T18:44:10",
        "2026-11-30T18:44:10z",
        "2026-11-30 18:44:10Z",
        "2026-11-30T18:44:10+00:00",
        "2026-11-30T18:44:10ZZ",
        " 2026-11-30T18:44:10Z",
        "2026-11-30T18:44:10.Z",
        "2026-11-30T18:44:10,5Z",
        "2026-00-30T18:44:10Z",
        "2026-13-30T18:44:10Z",
        "2026-11-31T18:44:10Z",
        "2026-11-00T18:44:10Z",
        "2026-02-29T18:44:10Z",
        "1900-02-29T00:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T18:60:10Z",
        "2026-11-30T18:44:60Z",
        "+026-11-30T18:44:10Z",
        "2026-1-30T18:44:10Z",
        "0000-01-01T00:00:00Z",
    };
    struct wall time = { 42 };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (wall_parse(bad[i], &time) != STATUS_INVALID)
            fail_msg("\"%s\" was read", bad[i]);
    }
    assert_int_equal(wall_parse("1600-01-01T00:00:00Z", &time), STATUS_RANGE);
    assert_int_equal(wall_parse("9999-12-31T23:59:59Z", &time), STATUS_RANGE);
    assert_int_equal(time.ns, 42);
    assert_int_equal(wall_parse("2000-02-29T00:00:00Z", &time), STATUS_OK);
}

static void wall_time_is_this_century(void **state)
{
    char text[WALL_TEXT_SIZE];

    (void)state;
    wall_format(wall_now(), text);
    assert_memory_equal(text, "20", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_never_goes_back),
        cmocka_unit_test(monotonic_time_is_finer_than_a_microsecond),
        cmocka_unit_test(differences_are_signed),
        cmocka_unit_test(the_ends_of_the_range_do_not_wrap),
        cmocka_unit_test(wall_time_is_written_in_utc),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(fractions_are_kept_to_the_nanosecond),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(wall_time_is_this_century),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
