/* Flags fill what they name, and complaints are one line each. */
#include "tests/controller/command/options_fixture.h"

static int64_t size_at(const struct fixture *f, size_t index)
{
    assert_true(index < f->paint.sizes.count);
    return ((const int64_t *)f->paint.sizes.items)[index];
}

static void no_flags_leave_the_defaults(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, NULL), OPTIONS_GO);
    assert_string_equal(f->err, "");
    assert_int_equal(f->paint.coats, 2);
    assert_int_equal(f->paint.sizes.count, 2);
    assert_false(f->json);
    assert_null(f->output);
}

static void flags_fill_the_fields_they_name(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "--coats", "9", "--color=blue", "--label", "a=b", "--glossy",
                           "--depth", "-5", "--seconds=0.5", "--json"),
                     OPTIONS_GO);
    assert_int_equal(f->paint.coats, 9);
    assert_int_equal(f->paint.color, 2);
    assert_string_equal(f->paint.label, "a=b");
    assert_true(f->paint.glossy);
    assert_int_equal(f->paint.inner.depth, -5);
    assert_true(f->paint.inner.seconds > 0.49 && f->paint.inner.seconds < 0.51);
    assert_true(f->json);
}

static void a_free_text_is_borrowed(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "--output", "-dir"), OPTIONS_GO);
    assert_string_equal(f->output, "-dir");
}

static void a_list_replaces_the_default_list(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "--payload", "44,65507,100", "--colors", "blue,red"), OPTIONS_GO);
    assert_int_equal(f->paint.sizes.count, 3);
    assert_int_equal(size_at(f, 0), 44);
    assert_int_equal(size_at(f, 1), 65507);
    assert_int_equal(size_at(f, 2), 100);
    assert_int_equal(f->paint.colors.count, 2);
    assert_int_equal(((const int *)f->paint.colors.items)[0], 2);
    assert_int_equal(((const int *)f->paint.colors.items)[1], 0);
}

static void a_list_is_filled_up_to_its_cap(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "--payload", "44,45,46,47"), OPTIONS_GO);
    assert_int_equal(f->paint.sizes.count, 4);
    PARSE(f, "--payload", "44,45,46,47,48");
    assert_one_line(f, "--payload: \"44,45,46,47,48\" is not allowed: it has more than 4 items");
    assert_int_equal(f->paint.sizes.count, 4);
}

static void integers_of_another_form_or_range_are_refused(void **state)
{
    static const char *const bad[] = { "0",
                                       "10",
                                       "-1",
                                       "abc",
                                       "1e3",
                                       " 2",
                                       "2 ",
                                       "+5",
                                       "2.0",
                                       "0x2",
                                       "9223372036854775808",
                                       "18446744073709551617",
                                       "-9223372036854775808",
                                       "99999999999999999999999999" };
    struct fixture *f = *state;
    char words[128];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        PARSE(f, "--coats", bad[i]);
        snprintf(words, sizeof words, "--coats: \"%s\" is not allowed: an integer from 1 to 9\n",
                 bad[i]);
        assert_one_line(f, words);
        assert_int_equal(f->paint.coats, 2);
    }
}

static void other_types_say_what_they_allow(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--color", "pink");
    assert_one_line(f, "--color: \"pink\" is not allowed: one of red, green, blue\n");
    PARSE(f, "--seconds", "0.4");
    assert_one_line(f, "--seconds: \"0.4\" is not allowed: a number from 0.5 to 60\n");
    PARSE(f, "--seconds", "1e1");
    assert_one_line(f, "a number from 0.5 to 60\n");
    PARSE(f, "--seconds", "nan");
    assert_one_line(f, "a number from 0.5 to 60\n");
    PARSE(f, "--seconds", "1,5");
    assert_one_line(f, "a number from 0.5 to 60\n");
    PARSE(f, "--label", "twelve bytes");
    assert_one_line(f, "UTF-8 text of at most 11 bytes\n");
    PARSE(f, "--label", "\xff");
    assert_one_line(f, "--label: \"?\" is not allowed: UTF-8");
    PARSE(f, "--colors", "red,pink");
    assert_one_line(f, "--colors: \"pink\" is not allowed: one of red, green, blue\n");
}

static void lists_are_refused_whole(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--payload", "1472,,8192");
    assert_one_line(f, "--payload: \"1472,,8192\" is not allowed: it has an empty item\n");
    PARSE(f, "--payload", "1472,");
    assert_one_line(f, "--payload: \"1472,\" is not allowed: it has an empty item\n");
    PARSE(f, "--payload", ",");
    assert_one_line(f, "it has an empty item\n");
    PARSE(f, "--payload", "1472,43");
    assert_one_line(f, "--payload: \"43\" is not allowed: an integer from 44 to 65507\n");
    PARSE(f, "--payload", "1472, 8192");
    assert_one_line(f, "--payload: \" 8192\" is not allowed");
    PARSE(f, "--payload", "65508,100");
    assert_one_line(f, "--payload: \"65508\" is not allowed");
    assert_int_equal(f->paint.sizes.count, 2);
    assert_int_equal(size_at(f, 0), 512);
    assert_int_equal(size_at(f, 1), 1472);
}

static void a_value_must_be_there(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--coats");
    assert_one_line(f, "--coats: needs a value: an integer from 1 to 9\n");
    PARSE(f, "--coats", "--json");
    assert_one_line(f, "--coats: needs a value");
    assert_false(f->json);
    PARSE(f, "--coats", "");
    assert_one_line(f, "--coats: an empty value is not allowed: an integer from 1 to 9\n");
    PARSE(f, "--payload=");
    assert_one_line(f, "--payload: an empty value is not allowed");
    PARSE(f, "--output", "");
    assert_one_line(f, "--output: an empty value is not allowed: DIR\n");
    PARSE(f, "--output");
    assert_one_line(f, "--output: needs a value: DIR\n");
}

static void a_switch_takes_no_value(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--json=yes");
    assert_one_line(f, "--json: takes no value\n");
    PARSE(f, "--glossy=");
    assert_one_line(f, "--glossy: takes no value\n");
    PARSE(f, "--json", "yes");
    assert_one_line(f, "\"yes\" is not expected");
}

static void a_flag_is_given_once(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--coats", "3", "--coats=3");
    assert_one_line(f, "--coats: given twice\n");
    PARSE(f, "--json", "--json");
    assert_one_line(f, "--json: given twice\n");
}

static void an_unknown_flag_gets_the_nearest_one_suggested(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "--paylod", "1");
    assert_one_line(f, "unknown flag \"--paylod\"; did you mean --payload? try "
                       "'sonde paint --help'\n");
    PARSE(f, "--paylaod=1");
    assert_one_line(f, "did you mean --payload?");
    PARSE(f, "-payload", "1");
    assert_one_line(f, "unknown flag \"-payload\"; did you mean --payload?");
    PARSE(f, "--hepl");
    assert_one_line(f, "did you mean --help?");
    PARSE(f, "--xyzzy");
    assert_one_line(f, "unknown flag \"--xyzzy\"; try 'sonde paint --help'\n");
    PARSE(f, "--pay", "1");
    assert_one_line(f, "unknown flag \"--pay\"");
    PARSE(f, "--=1");
    assert_one_line(f, "unknown flag \"--=1\"");
    PARSE(f, "-1");
    assert_one_line(f, "unknown flag \"-1\"");
}

static void words_are_refused_unless_wanted(void **state)
{
    struct fixture *f = *state;

    PARSE(f, "word");
    assert_one_line(f, "\"word\" is not expected: only flags are\n");
    PARSE(f, "--", "--json");
    assert_one_line(f, "\"--json\" is not expected");
    assert_false(f->json);
    PARSE(f, "");
    assert_one_line(f, "\"\" is not expected");
}

static void words_are_collected_between_flags(void **state)
{
    struct fixture *f = *state;
    const char *words[OPTION_OPERANDS_MAX + 2] = { NULL };

    f->options.operands = f->operands;
    assert_int_equal(PARSE(f, "a", "--json", "-", "--", "--coats", "--"), OPTIONS_GO);
    assert_true(f->json);
    assert_int_equal(f->options.operand_count, 4);
    for (size_t i = 0; i <= OPTION_OPERANDS_MAX; i++)
        words[i] = "w";
    parse(f, words);
    assert_one_line(f, "at most 1024 words");
    words[OPTION_OPERANDS_MAX] = NULL;
    assert_int_equal(parse(f, words), OPTIONS_GO);
    assert_int_equal(f->options.operand_count, OPTION_OPERANDS_MAX);
}

static void what_is_printed_back_is_short_and_without_control_bytes(void **state)
{
    struct fixture *f = *state;
    char word[5000];

    PARSE(f, "--coats", "1\n\x1b[2J\x7f\xc2\x9b");
    assert_one_line(f, "\"1??[2J???\" is not allowed: an integer from 1 to 9\n");
    PARSE(f, "--a\nb\r");
    assert_one_line(f, "unknown flag \"--a?b?\"");
    memset(word, '7', sizeof word);
    word[sizeof word - 1] = '\0';
    PARSE(f, "--coats", word);
    assert_one_line(f, "777...\" is not allowed: an integer from 1 to 9\n");
    PARSE(f, "--payload", word);
    assert_one_line(f, "777...\" is not allowed: an integer from 44 to 65507\n");
    memcpy(word, "--", 2);
    PARSE(f, word);
    assert_one_line(f, "...\"; try 'sonde paint --help'\n");
    assert_true(strlen(f->err) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPTIONS_TEST(no_flags_leave_the_defaults),
        OPTIONS_TEST(flags_fill_the_fields_they_name),
        OPTIONS_TEST(a_free_text_is_borrowed),
        OPTIONS_TEST(a_list_replaces_the_default_list),
        OPTIONS_TEST(a_list_is_filled_up_to_its_cap),
        OPTIONS_TEST(integers_of_another_form_or_range_are_refused),
        OPTIONS_TEST(other_types_say_what_they_allow),
        OPTIONS_TEST(lists_are_refused_whole),
        OPTIONS_TEST(a_value_must_be_there),
        OPTIONS_TEST(a_switch_takes_no_value),
        OPTIONS_TEST(a_flag_is_given_once),
        OPTIONS_TEST(an_unknown_flag_gets_the_nearest_one_suggested),
        OPTIONS_TEST(words_are_refused_unless_wanted),
        OPTIONS_TEST(words_are_collected_between_flags),
        OPTIONS_TEST(what_is_printed_back_is_short_and_without_control_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
