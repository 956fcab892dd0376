/* Numbers are read and written the same under every locale; words are compared. */
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

#include "proto/base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void integers_are_read_to_the_ends_of_the_range(void **state)
{
    int64_t value = 0;
    uint64_t big = 0;

    (void)state;
    assert_int_equal(text_to_i64("0", &value), STATUS_OK);
    assert_true(value == 0);
    assert_int_equal(text_to_i64("-0", &value), STATUS_OK);
    assert_true(value == 0);
    assert_int_equal(text_to_i64("0042", &value), STATUS_OK);
    assert_true(value == 42);
    assert_int_equal(text_to_i64("9223372036854775807", &value), STATUS_OK);
    assert_true(value == INT64_MAX);
    assert_int_equal(text_to_i64("-9223372036854775808", &value), STATUS_OK);
    assert_true(value == INT64_MIN);
    assert_int_equal(text_to_u64("18446744073709551615", &big), STATUS_OK);
    assert_true(big == UINT64_MAX);
}

static void integers_beyond_64_bits_are_out_of_range(void **state)
{
    int64_t value = 7;
    uint64_t big = 7;

    (void)state;
    assert_int_equal(text_to_i64("9223372036854775808", &value), STATUS_RANGE);
    assert_int_equal(text_to_i64("-9223372036854775809", &value), STATUS_RANGE);
    assert_int_equal(text_to_i64("99999999999999999999999999", &value), STATUS_RANGE);
    assert_int_equal(text_to_u64("18446744073709551616", &big), STATUS_RANGE);
    assert_int_equal(text_to_u64("184467440737095516150", &big), STATUS_RANGE);
    assert_int_equal(text_to_u64("99999999999999999999x", &big), STATUS_INVALID);
    assert_true(value == 7 && big == 7);
}

static void other_forms_of_integers_are_refused(void **state)
{
    static const char *const bad[] = { "",    "-",    "--1", "+5",    " 12", "12 ", "1e3",
                                       "1.0", "0x10", "abc", "1,000", "٣",   "1\n" };
    int64_t value = 7;
    uint64_t big = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (text_to_i64(bad[i], &value) != STATUS_INVALID)
            fail_msg("\"%s\" was read", bad[i]);
    }
    assert_int_equal(text_to_u64("-1", &big), STATUS_INVALID);
    assert_true(value == 7 && big == 7);
}

static void reals_are_read_to_the_nearest_double(void **state)
{
    static const char *const texts[] = { "0",
                                         "0.0",
                                         "1",
                                         "0.25",
                                         "0.1",
                                         "123.456",
                                         "1000000",
                                         "86400.0",
                                         "0.000001",
                                         "3.14159265358979",
                                         "0.00000000000000000000000025",
                                         "100000000000000000000000",
                                         "007.50" };
    double value;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        value = -1;
        assert_int_equal(text_to_real(texts[i], &value), STATUS_OK);
        if (value < strtod(texts[i], NULL) || value > strtod(texts[i], NULL))
            fail_msg("%s was read as %.17g", texts[i], value);
    }
    assert_int_equal(text_to_real("0.3333333333333333333333333333333333", &value), STATUS_OK);
    assert_true(value > 0.333333333333333 && value < 0.333333333333334);
    assert_int_equal(text_to_real("12345678901234567890123", &value), STATUS_OK);
    assert_true(value > 1.23456789012345e22 && value < 1.23456789012346e22);
}

static void other_forms_of_reals_are_refused(void **state)
{
    static const char *const bad[] = { "",   ".",  ".5",  "5.",  "1e3", "-1",    "+1", "1,5",
                                       " 1", "1 ", "nan", "inf", "0x1", "1.2.3", "abc" };
    char huge[400];
    double value = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (text_to_real(bad[i], &value) != STATUS_INVALID)
            fail_msg("\"%s\" was read", bad[i]);
    }
    memset(huge, '9', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(text_to_real(huge, &value), STATUS_RANGE);
    assert_true(value > 6.9 && value < 7.1);
}

static void the_locale_changes_nothing(void **state)
{
    char text[TEXT_QUANTITY_SIZE];
    double value = 0;

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        skip();
    assert_int_equal(text_to_real("0.25", &value), STATUS_OK);
    assert_true(value > 0.24 && value < 0.26);
    assert_int_equal(text_to_real("0,25", &value), STATUS_INVALID);
    text_bytes(66355, text);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "64.8 KiB");
}

struct written {
    int64_t value;
    const char *text;
};

static void assert_writes(void (*write)(int64_t, char *), const struct written *cases, size_t count)
{
    char text[TEXT_QUANTITY_SIZE];

    for (size_t i = 0; i < count; i++) {
        memset(text, 'x', sizeof text);
        write(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void thousands_are_grouped(void **state)
{
    static const struct written cases[] = {
        { 0, "0" },
        { 999, "999" },
        { 1000, "1,000" },
        { 1234567, "1,234,567" },
        { -1000, "-1,000" },
        { -999, "-999" },
        { INT64_MAX, "9,223,372,036,854,775,807" },
        { INT64_MIN, "-9,223,372,036,854,775,808" },
    };

    (void)state;
    assert_writes(text_grouped, cases, COUNT(cases));
}

static void bytes_are_in_binary_units(void **state)
{
    static const struct written cases[] = {
        { 0, "0 B" },
        { 831, "831 B" },
        { 1023, "1023 B" },
        { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },
        { 66355, "64.8 KiB" },
        { 212992, "208 KiB" },
        { 4 << 20, "4 MiB" },
        { (1 << 20) - 1, "1 MiB" },
        { 1 << 30, "1 GiB" },
        { -2048, "-2 KiB" },
        { INT64_MAX, "8 EiB" },
        { INT64_MIN, "-8 EiB" },
    };

    (void)state;
    assert_writes(text_bytes, cases, COUNT(cases));
}

static void durations_have_three_digits(void **state)
{
    static const struct written cases[] = {
        { 0, "0 ns" },
        { 850, "850 ns" },
        { 999, "999 ns" },
        { 1000, "1 us" },
        { 12345, "12.3 us" },
        { 4060000, "4.06 ms" },
        { 4064999, "4.06 ms" },
        { 4065000, "4.07 ms" },
        { 9996000, "10 ms" },
        { 99960000, "100 ms" },
        { 250000000, "250 ms" },
        { 999499, "999 us" },
        { 999600, "1 ms" },
        { 1250000000, "1.25 s" },
        { INT64_C(1234567000000), "1235 s" },
        { -1500, "-1.5 us" },
        { INT64_MAX, "9223372037 s" },
    };

    (void)state;
    assert_writes(text_duration, cases, COUNT(cases));
}

static void a_copy_never_cuts_a_letter_in_two(void **state)
{
    char text[6];

    (void)state;
    assert_true(text_copy(text, sizeof text, "abcde"));
    assert_string_equal(text, "abcde");
    assert_false(text_copy(text, sizeof text, "abcdef"));
    assert_string_equal(text, "abcde");
    assert_false(text_copy(text, sizeof text, "abcd\xc3\xa9"));
    assert_string_equal(text, "abcd");
    assert_false(text_copy(text, sizeof text, "ab\xf0\x9f\x98\x80"));
    assert_string_equal(text, "ab");
    assert_false(text_copy(text, 1, "a"));
    assert_string_equal(text, "");
}

static void the_nearest_word_is_the_one_that_was_meant(void **state)
{
    static const char *const words[] = { "loopback", "budget", "counters", "report", "help", NULL };

    (void)state;
    assert_string_equal(text_nearest("loopbak", words), "loopback");
    assert_string_equal(text_nearest("lopback", words), "loopback");
    assert_string_equal(text_nearest("reprot", words), "report");
    assert_string_equal(text_nearest("hlep", words), "help");
    assert_string_equal(text_nearest("count", (const char *const[]){ "mount", "counts", NULL }),
                        "mount");
    assert_string_equal(text_nearest("report", words), "report");
    assert_null(text_nearest("frobnicate", words));
    assert_null(text_nearest("", words));
    assert_null(text_nearest("x", words));
    assert_null(text_nearest("loop", words));
}

static void a_very_long_word_is_near_to_nothing(void **state)
{
    char word[1000];
    const char *const words[] = { word, "ab", NULL };

    (void)state;
    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = '\0';
    assert_null(text_nearest(word, words));
    assert_null(text_nearest("aaa", (const char *const[]){ word, NULL }));
    word[64] = '\0';
    assert_string_equal(text_nearest(word, words), word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_to_the_ends_of_the_range),
        cmocka_unit_test(integers_beyond_64_bits_are_out_of_range),
        cmocka_unit_test(other_forms_of_integers_are_refused),
        cmocka_unit_test(reals_are_read_to_the_nearest_double),
        cmocka_unit_test(other_forms_of_reals_are_refused),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(thousands_are_grouped),
        cmocka_unit_test(bytes_are_in_binary_units),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(a_copy_never_cuts_a_letter_in_two),
        cmocka_unit_test(the_nearest_word_is_the_one_that_was_meant),
        cmocka_unit_test(a_very_long_word_is_near_to_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
