/* json_place: what is no JSON of ours is refused before parsing, and a position has a pointer. */
#include "proto/wire/json_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/clock.h"
#include "proto/wire/limits.h"

static void refuses(const char *text, size_t length, enum status status, const char *expected)
{
    struct fault fault = { "" };

    assert_int_equal(json_check_form(text, length, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_int_equal(json_check_form(text, length, NULL), status);
}

static void refuses_text(const char *text, const char *expected)
{
    refuses(text, strlen(text), STATUS_INVALID, expected);
}

static void accepts(const char *text)
{
    struct fault fault = { "" };

    assert_int_equal(json_check_form(text, strlen(text), &fault), STATUS_OK);
    assert_string_equal(fault.text, "");
}

static void refuses_what_is_empty(void **state)
{
    (void)state;
    refuses_text("", "/: empty, not a JSON object");
    refuses_text(" \t\r\n\n", "/: empty, not a JSON object");
}

static void refuses_a_byte_order_mark(void **state)
{
    (void)state;
    refuses_text("\xef\xbb\xbf{}",
                 "/: starts with a byte order mark; UTF-8 without one is asked for");
    refuses_text("\xff\xfe{", "/: does not start with '{' (byte 1), so it is not a JSON object");
}

static void refuses_text_in_front(void **state)
{
    (void)state;
    refuses_text("hello {}", "/: does not start with '{' (byte 1), so it is not a JSON object");
    refuses_text(" \n[{}]", "/: does not start with '{' (byte 3), so it is not a JSON object");
    refuses_text("\v{}", "/: does not start with '{' (byte 1), so it is not a JSON object");
    refuses_text("}", "/: does not start with '{' (byte 1), so it is not a JSON object");
}

static void refuses_zero_bytes_wherever_they_stand(void **state)
{
    static const char zeros[4096];

    (void)state;
    refuses(zeros, sizeof zeros, STATUS_INVALID,
            "/: does not start with '{' (byte 1), so it is not a JSON object");
    refuses("{}\0", 3, STATUS_INVALID, "/: a zero byte (line 1, byte 3)");
    refuses("{\"a\":[1,\n\0]}", 12, STATUS_INVALID, "/a/1: a zero byte (line 2, byte 10)");
    refuses("{\"a\":{\"b\":\"x\0y\"}}", 18, STATUS_INVALID, "/a/b: a zero byte (line 1, byte 13)");
    refuses("{\"a\":{\"b\0\":1}}", 15, STATUS_INVALID, "/a: a zero byte (line 1, byte 9)");
}

/* `depth` levels: an object and lists in it. */
static char *nested(size_t depth)
{
    size_t length = depth + 4;
    char *text = malloc(length + 1);

    assert_non_null(text);
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', depth - 1);
    text[length] = '\0';
    return text;
}

static void refuses_nesting_over_the_limit(void **state)
{
    static const size_t depths[] = { LIMIT_JSON_DEPTH + 1, 1000, 1000000 };
    char place[128] = "/a";
    char expected[256];
    char *text = nested(LIMIT_JSON_DEPTH);

    (void)state;
    accepts(text);
    free(text);
    for (int i = 0; i < LIMIT_JSON_DEPTH - 1; i++)
        memcpy(place + strlen(place), "/0", 3);
    snprintf(expected, sizeof expected, "%s: nested deeper than 32 levels", place);
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        text = nested(depths[i]);
        refuses(text, strlen(text), STATUS_TOO_LARGE, expected);
        free(text);
    }
}

static void brackets_in_strings_do_not_nest(void **state)
{
    char text[256] = "{\"[[[[{{{{\\\"[[[[\":\"";

    (void)state;
    memset(text + strlen(text), '[', 100);
    memcpy(text + strlen(text), "\\\\\"}", 5);
    accepts(text);
}

static void siblings_do_not_nest(void **state)
{
    (void)state;
    accepts("{\"a\":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
            "[],[],[],[],[],[],[],[],[],[],[],[]]}");
    accepts("{}}}}}}}}}]]]]]]");
}

/* `text` up to the mark '^' was read; the rest was not. */
static void is_at(const char *marked, const char *place)
{
    char text[512], expected[512];
    const char *mark = strchr(marked, '^');
    size_t position = (size_t)(mark - marked);
    struct fault fault = { "" };

    snprintf(text, sizeof text, "%.*s%s", (int)position, marked, mark + 1);
    snprintf(expected, sizeof expected, "%s: wrong (line 1, byte %zu)", place, position);
    assert_int_equal(json_fault_at(text, strlen(text), position, "wrong", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, expected);
}

static void a_value_has_the_pointer_of_its_key(void **state)
{
    (void)state;
    is_at("{\"a\":NaN^}", "/a");
    is_at("{\"a\":1,\"b\":{\"c\":1e999^}}", "/b/c");
    is_at("{\"a\":[0,[1,2],{\"b\":[9^]}]}", "/a/2/b/0");
    is_at("{\"a\":[0,[1,2],3^]}", "/a/2");
    is_at("{\"a\":[[1,2],[3,4]],\"c\":x^}", "/c");
    is_at("{\"a\":{\"b\":1},\"c\":x^}", "/c");
    is_at("{\"a\":1} x^", "/");
    is_at("{\"a\":1}{^", "/");
}

static void a_key_that_is_there_twice_is_the_place(void **state)
{
    (void)state;
    is_at("{\"a\":1,\"b\":{},\"a\"^:2}", "/a");
    is_at("{\"\":1,\"\"^:2}", "/");
    is_at("{\"x\":{\"a/b~c\":1,\"a/b~c\"^:2}}", "/x/a~1b~0c");
    is_at("{\"a\\\"\\u0041\":1^x}", "/a\\\"\\u0041");
}

static void a_token_that_is_wrong_does_not_lead_out_of_its_place(void **state)
{
    (void)state;
    is_at("{\"a\":}^", "/a");
    is_at("{\"a\":{\"b\":]^}", "/a/b");
    is_at("{\"a\":[1,]^}", "/a/1");
    is_at("{\"a\":,^", "/a");
    is_at("{\"a\" 1^}", "/a");
    is_at("{\"a\":1 \"b\"^:2}", "/a");
    is_at("{\"a\":1,}^", "/");
    is_at("{\"a\":{\"b\":1,}^}", "/a");
}

static void a_string_that_breaks_off_names_nothing(void **state)
{
    (void)state;
    is_at("{\"a\":\"te\x01^xt\",\"b\":1}", "/a");
    is_at("{\"a\":1,\"ke\x01^y\":1}", "/");
    is_at("{\"a\":{\"ke^y\":1}}", "/a");
    is_at("{\"a\":[1,\"x\\^", "/a/1");
}

static void the_line_is_counted_and_the_end_is_the_end(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(json_fault_at("{\n\n\"a\":\n", 8, 9, "ends", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/a: ends (line 4, byte 8)");
    assert_int_equal(json_fault_at("{\"a\":[", 6, 7, "ends", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/a/0: ends (line 1, byte 6)");
    assert_int_equal(json_fault_at("{\"a\":[", 6, SIZE_MAX, "ends", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/a/0: ends (line 1, byte 6)");
    assert_int_equal(json_fault_at("{", 1, 0, "starts", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/: starts (line 1, byte 0)");
    assert_int_equal(json_fault_at("", 0, 0, "is empty", &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/: is empty (line 1, byte 0)");
}

static void a_very_long_key_is_cut(void **state)
{
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH + 16);
    struct fault fault;

    (void)state;
    assert_non_null(text);
    memcpy(text, "{\"", 2);
    memset(text + 2, 'k', LENGTH);
    memcpy(text + 2 + LENGTH, "\":?}", 5);
    assert_int_equal(json_fault_at(text, LENGTH + 6, LENGTH + 5, "wrong", &fault), STATUS_INVALID);
    assert_memory_equal(fault.text, "/kkkkkkkk", 9);
    assert_non_null(strstr(fault.text, "kkk: wrong (line 1, byte 100005)"));
    free(text);
}

/* One pass, no snprintf at each element: 14 MB take a blink, whatever stands in them. */
static void long_texts_take_time_in_proportion(void **state)
{
    static const char *const patterns[] = {
        "[1,2],", "\"\\\\\",", "{},", ",", "\"a\":1,", "]", "\""
    };
    enum { LENGTH = 14 << 20 }; /* at one value a byte still within LIMIT_JSON_VALUES */
    char *text = malloc(LENGTH);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        size_t size = strlen(patterns[i]);
        struct mono start;
        struct fault fault;

        memcpy(text, "{\"a\":[", 6);
        for (size_t at = 6; at < LENGTH; at++)
            text[at] = patterns[i][(at - 6) % size];
        start = mono_now();
        assert_int_equal(json_check_form(text, LENGTH, &fault), STATUS_OK);
        assert_int_equal(json_fault_at(text, LENGTH, LENGTH, "x", &fault), STATUS_INVALID);
        assert_true(mono_between(start, mono_now()) < 5 * NS_PER_S);
    }
    free(text);
}

static void refuses_more_values_than_the_limit(void **state)
{
    enum { LENGTH = LIMIT_JSON_VALUES + 10 };
    char *text = malloc(LENGTH);
    struct fault fault;

    (void)state;
    assert_non_null(text);
    memset(text, ',', LENGTH);
    memcpy(text, "{\"a\":[", 6);
    assert_int_equal(json_check_form(text, LENGTH, &fault), STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, ": more than 16777216 values"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_empty),
        cmocka_unit_test(refuses_a_byte_order_mark),
        cmocka_unit_test(refuses_text_in_front),
        cmocka_unit_test(refuses_zero_bytes_wherever_they_stand),
        cmocka_unit_test(refuses_nesting_over_the_limit),
        cmocka_unit_test(brackets_in_strings_do_not_nest),
        cmocka_unit_test(siblings_do_not_nest),
        cmocka_unit_test(a_value_has_the_pointer_of_its_key),
        cmocka_unit_test(a_key_that_is_there_twice_is_the_place),
        cmocka_unit_test(a_token_that_is_wrong_does_not_lead_out_of_its_place),
        cmocka_unit_test(a_string_that_breaks_off_names_nothing),
        cmocka_unit_test(the_line_is_counted_and_the_end_is_the_end),
        cmocka_unit_test(a_very_long_key_is_cut),
        cmocka_unit_test(refuses_more_values_than_the_limit),
        cmocka_unit_test(long_texts_take_time_in_proportion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
