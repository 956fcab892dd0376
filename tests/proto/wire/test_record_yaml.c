/* record_yaml: every key is printed below its help, and what is printed reads the same. */
#include "proto/wire/record_yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/record_json.h"
#include "tests/proto/wire/comma_locale.h"
#include "tests/proto/wire/configuration.h"
#include "tests/proto/wire/fill.h"

static void prints_every_key_below_its_help(void **state)
{
    static const char expected[] = "---\n"
                                   "\n"
                                   "# where to\n"
                                   "address: \"localhost\"\n"
                                   "\n"
                                   "zone: null\n"
                                   "\n"
                                   "# says more\n"
                                   "verbose: false\n"
                                   "\n"
                                   "# of the door (one of red, green, blue)\n"
                                   "colour: \"green\"\n"
                                   "\n"
                                   "# what is allowed\n"
                                   "section:\n"
                                   "  # datagrams/s (an integer from 1 to 1000000)\n"
                                   "  max_rate: 500\n"
                                   "  max_seconds: 2.5\n"
                                   "  # ranges of hosts\n"
                                   "  peers:\n"
                                   "    - \"10.0.0.0/8\"\n"
                                   "    - \"::1/128\"\n"
                                   "  rules: []\n"
                                   "\n"
                                   "extra: null\n"
                                   "\n"
                                   "patience: 7\n";
    struct file file;
    struct buf text;

    (void)state;
    defaults(&file);
    buf_init(&text, 1 << 20);
    assert_int_equal(record_to_yaml(&file_record, &file, &text), STATUS_OK);
    assert_string_equal(text.data, expected);
    record_done(&file_record, &file);
    buf_done(&text);
    buf_init(&text, 100);
    defaults(&file);
    assert_int_equal(record_to_yaml(&file_record, &file, &text), STATUS_TOO_LARGE);
    record_done(&file_record, &file);
    buf_done(&text);
}

/* Frees the object. */
static char *json_of(struct specimen *object)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    assert_int_equal(record_to_json(&specimen_record, object, &text), STATUS_OK);
    record_done(&specimen_record, object);
    return text.data;
}

static void comes_back(struct specimen *object)
{
    struct specimen back;
    struct fault fault = { "" };
    struct buf text;
    char *before, *after;

    buf_init(&text, 1 << 20);
    assert_int_equal(record_to_yaml(&specimen_record, object, &text), STATUS_OK);
    record_init(&specimen_record, &back);
    if (record_from_yaml(&specimen_record,
                         &(struct yaml_text){ "specimen.yaml", text.data, text.length }, &back,
                         &fault) != STATUS_OK)
        fail_msg("%s in %s", fault.text, text.data);
    before = json_of(object);
    after = json_of(&back);
    assert_string_equal(before, after);
    free(before);
    free(after);
    buf_done(&text);
}

/* Reals as JSON rounds them: to what a person would write. */
static void round_reals(struct specimen *object)
{
    char *json = json_of(object);

    assert_int_equal(record_from_json(&specimen_record, json, strlen(json), object, NULL),
                     STATUS_OK);
    free(json);
}

static void every_type_goes_out_and_comes_back(void **state)
{
    struct filler filler = { .how = FILL_LEAST, .chance = chance_start("yaml"), .list_cap = 3 };
    struct specimen object;

    (void)state;
    assert_int_equal(
        record_from_json(&specimen_record, SPECIMEN_JSON, strlen(SPECIMEN_JSON), &object, NULL),
        STATUS_OK);
    comes_back(&object);
    for (int i = 0; i < 200; i++) {
        filler.how = i == 0 ? FILL_LEAST : FILL_RANDOM;
        record_init(&specimen_record, &object);
        fill_record(&filler, &specimen_record, &object);
        round_reals(&object);
        comes_back(&object);
    }
}

/* Every kind of letter: breaks, controls, what YAML takes for its own. */
static void any_text_comes_back(void **state)
{
    static const char *const texts[] = {
        "null",
        "~",
        "true",
        "1",
        " x ",
        "#x",
        "a: b",
        "- a",
        "\"'\\",
        "\t\n\r",
        "\x01\x1f\x7f",
        "\xc2\x80\xc2\x85\xc2\xa0",
        "\xe2\x80\xa8\xe2\x80\xa9",
        "\xef\xbb\xbf\xef\xbf\xbd",
        "\xef\xbf\xbe\xef\xbf\xbf",
        "\xf0\x9f\x98\x80",
        "%a",
        "@b",
        "\\u0041",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct specimen object;

        record_init(&specimen_record, &object);
        object.real = 1;
        object.part.present = true;
        snprintf(object.text, sizeof object.text, "%s", texts[i]);
        snprintf(object.maybe_text, sizeof object.maybe_text, "%s", texts[i]);
        map_add_text(&object.texts, texts[i], texts[i]);
        comes_back(&object);
    }
}

static void the_locale_changes_nothing(void **state)
{
    static const double reals[] = { 0.5, 0.1, 1e18, 123456789.125, 1.0 / 3, 2304, 1e-7 };
    struct specimen object;
    double *point;

    (void)state;
    if (!comma_locale_begin())
        skip();
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        record_init(&specimen_record, &object);
        object.part.present = true;
        object.real = reals[i] < 0.5 ? 1 : reals[i];
        object.maybe_real = reals[i] > 1 ? 1 : reals[i];
        point = list_append_sized(&object.points, 2 * sizeof *point);
        point[0] = -reals[i];
        comes_back(&object);
    }
    comma_locale_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_every_key_below_its_help),
        cmocka_unit_test(every_type_goes_out_and_comes_back),
        cmocka_unit_test(any_text_comes_back),
        cmocka_unit_test(the_locale_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
