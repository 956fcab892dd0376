/* --help says what flags allow and what their defaults are, within 100 columns. */
#include "tests/controller/command/options_fixture.h"

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static void help_says_what_is_allowed_and_the_defaults(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "--coats", "7", "--nonsense", "--help"), OPTIONS_DONE);
    assert_string_equal(f->err, "");
    assert_says(f->out, "Usage: sonde paint [flags]\n");
    assert_says(f->out, "Paints.\nA second line.\n");
    assert_says(f->out, "--coats N            how often (an integer from 1 to 9; default 2)\n");
    assert_says(f->out,
                "--color NAME         which color (one of red, green, blue; default red)\n");
    assert_says(f->out, "--payload BYTES,...  how large (each an integer from 44 to 65507; default "
                        "512,1472)\n");
    assert_says(f->out, "--seconds S          how long, seconds (a number from 0.5 to 60; default "
                        "1.5)\n");
    assert_says(f->out, "--glossy             shines\n");
    assert_says(f->out, "--output DIR         where to\n");
    assert_says(f->out, "--help               print this");
    assert_says(f->out, "Examples:\n  sonde paint --color red\n");
    assert_int_equal(PARSE(f, "-h"), OPTIONS_DONE);
}

static void help_fits_into_100_columns(void **state)
{
    struct fixture *f = *state;
    char long_word[250];
    char long_help[400] = "starts";

    memset(long_word, 'w', sizeof long_word);
    long_word[sizeof long_word - 1] = '\0';
    for (size_t i = strlen(long_help); i + 8 < sizeof long_help; i += 7)
        memcpy(long_help + i, " a word", 8);
    f->table[0].help = long_help;
    f->table[1].help = long_word;
    f->table[2].argument = "AN-ARGUMENT-THAT-IS-VERY-LONG";
    f->options.about = long_help;
    assert_int_equal(PARSE(f, "--help"), OPTIONS_DONE);
    for (const char *line = f->out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strcspn(line, "\n") > 100)
            fail_msg("too wide: %.*s", (int)strcspn(line, "\n"), line);
    }
    assert_says(f->out, "\n  --label AN-ARGUMENT-THAT-IS-VERY-LONG\n                       a name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPTIONS_TEST(help_says_what_is_allowed_and_the_defaults),
        OPTIONS_TEST(help_fits_into_100_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
