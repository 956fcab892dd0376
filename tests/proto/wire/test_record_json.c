/* record_json: every type goes out and comes back, the same under every locale. */
#include "proto/wire/record_json.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/proto/wire/comma_locale.h"
#include "tests/proto/wire/specimen.h"

static void reads(const char *text, struct specimen *out_object)
{
    struct fault fault = { "" };
    enum status status = record_from_json(&specimen_record, text, strlen(text), out_object, &fault);

    assert_string_equal(fault.text, "");
    assert_int_equal(status, STATUS_OK);
}

static void writes(const struct specimen *object, const char *expected)
{
    struct buf buf;

    buf_init(&buf, 1 << 20);
    assert_int_equal(record_to_json(&specimen_record, object, &buf), STATUS_OK);
    assert_string_equal(buf_peek(&buf), expected);
    buf_done(&buf);
}

struct change {
    const char *from, *to;
};

static void every_type_goes_out_and_comes_back(void **state)
{
    struct specimen object;

    (void)state;
    reads(SPECIMEN_JSON, &object);
    assert_true(object.flag);
    assert_true(object.count == 9007199254740993);
    assert_int_equal(object.small, -3);
    assert_true(object.maybe == NONE_INT && isnan(object.maybe_real));
    assert_true(object.real == 2304);
    assert_string_equal(object.text, "h\x01\xc3\xb6\"\\/");
    assert_string_equal(object.maybe_text, "");
    assert_int_equal(object.colour, BLUE);
    assert_true(object.part.present && !object.maybe_part.present);
    assert_int_equal(object.part.number, 7);
    assert_true(object.inlined.first == 1 && object.inlined.second == 0.125);
    assert_true(object.cold.frost == 9 && object.warm.heat == 0);
    assert_true(object.named[0] == 0 && object.named[1] == NONE_INT && object.named[2] == 5);
    assert_int_equal(object.ints.count, 3);
    assert_int_equal(((int64_t *)object.ints.items)[2], 10);
    assert_true(((double *)object.reals.items)[0] == 0.5);
    assert_int_equal(((enum colour *)object.colours.items)[0], GREEN);
    assert_int_equal(((int64_t *)object.pairs.items)[3], 4);
    assert_true(((double(*)[2])object.points.items)[0][1] == 1.5);
    assert_true(((double(*)[2])object.points.items)[1][0] == -2);
    assert_string_equal(((char **)object.words.items)[0], "sonde");
    assert_string_equal(((struct part *)object.parts.items)[1].text, "two");
    assert_true(((struct part *)object.parts.items)[1].present);
    assert_true(((int64_t *)object.nameds.items)[0] == NONE_INT);
    assert_true(((int64_t *)object.nameds.items)[2] == INT64_MAX);
    assert_int_equal(map_find(&object.numbers, "lower")->number, -1);
    assert_true(map_find(&object.numbers, "gone")->number == NONE_INT);
    assert_string_equal(map_find(&object.texts, "zeromq")->text, "4.3.4");
    assert_int_equal(object.optional, 6);
    assert_true(object.odd_key == 2.5);
    writes(&object, SPECIMEN_JSON);
    record_done(&specimen_record, &object);
}

static void present_values_of_nullable_fields_come_back(void **state)
{
    static const struct change changes[] = {
        { "\"maybe\":null", "\"maybe\":0" },
        { "\"maybe_real\":null", "\"maybe_real\":0.75" },
        { "\"maybe_text\":null", "\"maybe_text\":\"x\"" },
        { "\"maybe_part\":null", "\"maybe_part\":{\"number\":0,\"text\":\"\"}" },
        { "\"optional\":6", "\"optional\":null" },
        { "\"ints\":[3,0,10]", "\"ints\":[]" },
        { "{\"zeromq\":\"4.3.4\",\"none\":\"\"}", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *text = changed(changes[i].from, changes[i].to);
        struct specimen object;

        reads(text, &object);
        writes(&object, text);
        record_done(&specimen_record, &object);
        free(text);
    }
}

/* Keys of another choice are unknown ones; they come and go with the choice. */
static void the_choice_says_which_keys_there_are(void **state)
{
    static const struct change changes[] = {
        { "\"colour\":\"blue\"", "\"colour\":\"green\"" },
        { "\"frost\":9", "\"heat\":3,\"marks\":[\"x\",\"y\"]" },
    };
    char *text = changed("\"frost\":9", "\"heat\":99,\"frost\":9,\"marks\":7");
    struct specimen object;
    struct buf buf;

    (void)state;
    reads(text, &object); /* what is not of this choice may be anything */
    writes(&object, SPECIMEN_JSON);
    object.colour = GREEN;
    buf_init(&buf, 1 << 20);
    assert_int_equal(record_to_json(&specimen_record, &object, &buf), STATUS_OK);
    assert_non_null(strstr(buf.data, changes[0].to));
    assert_null(strstr(buf.data, "frost"));
    record_done(&specimen_record, &object);
    reads(buf.data, &object);
    object.colour = RED;
    object.warm.heat = 3;
    *(char **)list_append_sized(&object.warm.marks, sizeof(char *)) = strdup("x");
    *(char **)list_append_sized(&object.warm.marks, sizeof(char *)) = strdup("y");
    buf_done(&buf);
    assert_int_equal(record_to_json(&specimen_record, &object, &buf), STATUS_OK);
    assert_non_null(strstr(buf.data, changes[1].to));
    record_done(&specimen_record, &object);
    reads(buf.data, &object);
    assert_int_equal(object.warm.marks.count, 2);
    record_done(&specimen_record, &object);
    buf_done(&buf);
    free(text);
}

static void integers_up_to_63_bits_are_exact(void **state)
{
    static const char *const texts[] = { "0", "9007199254740993", "9223372036854775806",
                                         "9223372036854775807" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char to[64];
        char *text;
        struct specimen object;

        snprintf(to, sizeof to, "\"count\":%s", texts[i]);
        text = changed("\"count\":9007199254740993", to);
        reads(text, &object);
        assert_true(object.count == strtoll(texts[i], NULL, 10));
        writes(&object, text);
        record_done(&specimen_record, &object);
        free(text);
    }
}

/* What has at most 15 digits, as every time in nanoseconds does, comes back bit for bit. */
static void reals_of_15_digits_come_back_bit_for_bit(void **state)
{
    static const double reals[] = { 0.5,  0.6,  2304,        9007199254740991.0, 9007199254740992.0,
                                    1e17, 1e18, 1.000976563, 123456.789012345 };

    (void)state;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        struct specimen object, back;
        struct buf buf;

        reads(SPECIMEN_JSON, &object);
        object.real = reals[i];
        buf_init(&buf, 1 << 20);
        assert_int_equal(record_to_json(&specimen_record, &object, &buf), STATUS_OK);
        reads(buf_peek(&buf), &back);
        assert_memory_equal(&back.real, &reals[i], sizeof reals[i]);
        buf_done(&buf);
        record_done(&specimen_record, &object);
        record_done(&specimen_record, &back);
    }
}

static void a_whole_real_has_no_point(void **state)
{
    static const struct change changes[] = {
        { "\"real\":2304.0", "\"real\":2304" },
        { "\"real\":2.304e3", "\"real\":2304" },
        { "\"real\":9007199254740991.0", "\"real\":9007199254740991" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *text = changed("\"real\":2304", changes[i].from);
        char *expected = changed("\"real\":2304", changes[i].to);
        struct specimen object;

        reads(text, &object);
        writes(&object, expected);
        record_done(&specimen_record, &object);
        free(expected);
        free(text);
    }
}

static void unknown_keys_are_ignored_and_optional_ones_may_lack(void **state)
{
    char *text = changed("{\"flag\"", " \n{\"new\":[{\"x\":{}}],\"flag\"");
    struct specimen object;

    (void)state;
    reads(text, &object);
    writes(&object, SPECIMEN_JSON);
    record_done(&specimen_record, &object);
    free(text);
    text = changed("\"optional\":6,", "");
    reads(text, &object);
    assert_true(object.optional == NONE_INT);
    record_done(&specimen_record, &object);
    free(text);
    text = changed("\"udp.sent\":0,", "\"udp.new\":\"?\",");
    reads(text, &object);
    assert_true(object.named[0] == NONE_INT && object.named[2] == 5);
    record_done(&specimen_record, &object);
    free(text);
}

static void a_full_buffer_is_a_status(void **state)
{
    struct specimen object;
    struct buf buf;

    (void)state;
    reads(SPECIMEN_JSON, &object);
    buf_init(&buf, sizeof SPECIMEN_JSON - 2);
    assert_int_equal(record_to_json(&specimen_record, &object, &buf), STATUS_TOO_LARGE);
    buf_done(&buf);
    buf_init(&buf, sizeof SPECIMEN_JSON - 1);
    assert_int_equal(record_to_json(&specimen_record, &object, &buf), STATUS_OK);
    buf_done(&buf);
    record_done(&specimen_record, &object);
}

/* In a process of its own, without the words of assert. */
static void aborts(const struct record *record, const void *object)
{
    struct buf buf;
    pid_t child;
    int ended = 0;

    buf_init(&buf, 1 << 20);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        _exit(record_to_json(record, object, &buf) == STATUS_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT);
}

static void an_object_that_does_not_pass_the_check_aborts(void **state)
{
    struct specimen object;

    (void)state;
    reads(SPECIMEN_JSON, &object);
    object.colour = (enum colour)1000000;
    aborts(&specimen_record, &object);
    object.colour = RED;
    object.real = (double)INFINITY;
    aborts(&specimen_record, &object);
    object.real = 1;
    object.text[0] = '\xff';
    aborts(&specimen_record, &object);
    aborts(&part_record, &object.maybe_part);
    record_done(&specimen_record, &object);
}

static void the_locale_changes_nothing(void **state)
{
    struct specimen object;

    (void)state;
    if (!comma_locale_begin())
        skip();
    reads(SPECIMEN_JSON, &object);
    assert_true(object.odd_key == 2.5);
    writes(&object, SPECIMEN_JSON);
    record_done(&specimen_record, &object);
    comma_locale_end();
}

static void the_library_has_a_version(void **state)
{
    (void)state;
    assert_true(record_json_library()[0] == '2');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_out_and_comes_back),
        cmocka_unit_test(present_values_of_nullable_fields_come_back),
        cmocka_unit_test(the_choice_says_which_keys_there_are),
        cmocka_unit_test(integers_up_to_63_bits_are_exact),
        cmocka_unit_test(reals_of_15_digits_come_back_bit_for_bit),
        cmocka_unit_test(a_whole_real_has_no_point),
        cmocka_unit_test(unknown_keys_are_ignored_and_optional_ones_may_lack),
        cmocka_unit_test(a_full_buffer_is_a_status),
        cmocka_unit_test(an_object_that_does_not_pass_the_check_aborts),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(the_library_has_a_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
