/* record_from_json: what is not exactly as the table says is refused with its place, whole. */
#include "proto/wire/record_json.h"

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
#include "tests/proto/wire/refusals.h"

static void reads(const char *text, struct specimen *out_object)
{
    struct fault fault = { "" };
    enum status status = record_from_json(&specimen_record, text, strlen(text), out_object, &fault);

    assert_string_equal(fault.text, "");
    assert_int_equal(status, STATUS_OK);
}

/* Whatever was read before the fault is freed (the sanitizers look) and absent again. */
static void refuses_bytes(const char *text, size_t length, enum status status, const char *expected)
{
    struct specimen object, fresh;
    struct fault fault = { "" };

    memset(&object, 0xaa, sizeof object);
    record_init(&specimen_record, &fresh);
    assert_int_equal(record_from_json(&specimen_record, text, length, &object, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_memory_equal(&object, &fresh, sizeof object);
    assert_int_equal(record_from_json(&specimen_record, text, length, &object, NULL), status);
}

static void refuses_text(const char *text, enum status status, const char *expected)
{
    refuses_bytes(text, strlen(text), status, expected);
}

static void refuses_what_the_table_does_not_allow(void **state)
{
    (void)state;
    refuse_specimens(refuses_text);
    refuses_text("{}", STATUS_INVALID, "/flag: missing");
}

static void refuses_too_many_and_too_long(void **state)
{
    (void)state;
    refuse_large(refuses_text);
}

/* The words are jansson's, the places ours. */
static const struct {
    const char *from, *to, *place;
} no_json[] = {
    { "\"small\":-3", "\"count\":1", "/count: duplicate object key" },
    { "\"text\":\"two\"", "\"number\":1", "/parts/1/number: duplicate object key" },
    { "\"a/b\":null", "\"udp.sent\":1", "/named/udp.sent: duplicate object key" },
    { "\"gone\":null", "\"net.core\\/rmem~\":1", "/numbers/net.core\\~1rmem~0: duplicate" },
    { "\"real\":2304", "\"real\":NaN", "/real: invalid token" },
    { "\"real\":2304", "\"real\":Infinity", "/real: invalid token" },
    { "\"real\":2304", "\"real\":-Infinity", "/real: invalid token" },
    { "\"real\":2304", "\"real\":1e999", "/real: real number overflow" },
    { "\"real\":2304", "\"real\":-1e999", "/real: real number overflow" },
    { "\"real\":2304", "\"real\":+1", "/real: invalid token" },
    { "\"real\":2304", "\"real\":01", "/real: invalid token" },
    { "\"real\":2304", "\"real\":1.", "/real: invalid token" },
    { "\"real\":2304", "\"real\":1,5", "/: string or '}' expected near '5'" },
    { "\"real\":2304", "\"real\":0x10", "/real: " },
    { "\"count\":9007199254740993", "\"count\":9223372036854775808", "/count: too big integer" },
    { "\"count\":9007199254740993", "\"count\":-9223372036854775809",
      "/count: too big negative integer" },
    { "[3,0,10]", "[3,100000000000000000000000000]", "/ints/1: too big integer" },
    { "\"second\":0.125", "\"second\":", "/second: unexpected token" },
    { "[3,0,10]", "[3,]", "/ints/1: unexpected token" },
    { "[3,0,10]", "[3 0]", "/ints/0: ']' expected" },
    { "\"text\":\"two\"}", "\"text\":\"two\",}", "/parts/1: string or '}' expected" },
    { "\"one\"", "\"\\ud800\"", "/parts/0/text: invalid Unicode" },
    { "\"one\"", "\"\\udc00\\ud800\"", "/parts/0/text: invalid Unicode" },
    { "\"one\"", "\"\\u0000\"", "/parts/0/text: \\u0000 is not allowed" },
    { "\"one\"", "\"\\x\"", "/parts/0/text: invalid escape" },
    { "\"one\"", "\"o\ne\"", "/parts/0/text: " },
    { "\"one\"", "\"\xff\"", "/parts/0/text: unable to decode byte 0xff" },
    { "\"one\"", "\"\xc0\x80\"", "/parts/0/text: unable to decode byte 0xc0" },
    { "\"one\"", "\"\xed\xa0\x80\"", "/parts/0/text: unable to decode byte 0xed" },
    { "[3,0,10]", "[3,\xff]", "/ints/1: unable to decode byte 0xff" },
    { "\"lower\":-1", "\"lo\xffwer\":-1", "/numbers: unable to decode byte 0xff" },
    { "\"lower\":-1", "\"lo\\u0000\":-1", "/numbers/lo\\u0000: NUL byte in object key" },
    { "2.5}", "2.5} x", "/: end of file expected near 'x'" },
    { "2.5}", "2.5}{}", "/: end of file expected near '{'" },
    { "2.5}", "2.5", "/a~1b~0c: '}' expected near end of file" },
    { "\"parts\":[", "//\n\"parts\":[", "/: " },
};

static void refuses_what_is_no_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_json / sizeof no_json[0]; i++) {
        char *text = changed(no_json[i].from, no_json[i].to);
        struct specimen object;
        struct fault fault = { "" };

        assert_int_equal(record_from_json(&specimen_record, text, strlen(text), &object, &fault),
                         STATUS_INVALID);
        if (strncmp(fault.text, no_json[i].place, strlen(no_json[i].place)) != 0)
            fail_msg("%s: not the place of: %s", no_json[i].place, fault.text);
        assert_non_null(strstr(fault.text, " (line "));
        free(text);
    }
}

static void refuses_every_shortened_text(void **state)
{
    (void)state;
    for (size_t length = 0; length + 1 < sizeof SPECIMEN_JSON; length++) {
        char *text = malloc(length + 1); /* so that the sanitizers see a byte too far */
        struct specimen object;
        struct fault fault = { "" };

        assert_non_null(text);
        memcpy(text, SPECIMEN_JSON, length);
        assert_int_equal(record_from_json(&specimen_record, text, length, &object, &fault),
                         STATUS_INVALID);
        assert_true(fault.text[0] == '/');
        free(text);
    }
}

static void refuses_form_before_parsing(void **state)
{
    static const char zeros[4096];
    char *deep = malloc(1000008);

    (void)state;
    assert_non_null(deep);
    refuses_text("", STATUS_INVALID, "/: empty, not a JSON object");
    refuses_text("\xef\xbb\xbf" SPECIMEN_JSON, STATUS_INVALID,
                 "/: starts with a byte order mark; UTF-8 without one is asked for");
    refuses_text("null", STATUS_INVALID,
                 "/: does not start with '{' (byte 1), so it is not a JSON object");
    refuses_bytes(zeros, sizeof zeros, STATUS_INVALID,
                  "/: does not start with '{' (byte 1), so it is not a JSON object");
    refuses_bytes("{\0}", 3, STATUS_INVALID, "/: a zero byte (line 1, byte 2)");
    memset(deep, '[', 1000008);
    memcpy(deep, "{\"flag\":", 8);
    for (size_t depth = 33; depth < 1000000; depth = depth * 30 + 10)
        refuses_bytes(deep, 7 + depth, STATUS_TOO_LARGE,
                      "/flag/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested "
                      "deeper than 32 levels");
    refuses_bytes(deep, 1000008, STATUS_TOO_LARGE,
                  "/flag/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested "
                  "deeper than 32 levels");
    free(deep);
}

/* 300,000 keys and a text of 20 MB: no step may look at what came before again. */
static void long_texts_take_time_in_proportion(void **state)
{
    enum { KEYS = 300000, TEXT = 20 << 20 };
    char *big = malloc(TEXT + 64);
    size_t used;
    struct mono start = mono_now();
    struct specimen object;
    char *text;

    (void)state;
    assert_non_null(big);
    used = (size_t)snprintf(big, 64, "{\"0\":1");
    for (int i = 1; i < KEYS; i++)
        used += (size_t)snprintf(big + used, 32, ",\"%d\":%d", i, i);
    snprintf(big + used, 64, ",\"flag\":true,");
    text = changed("{\"flag\":true,", big);
    reads(text, &object);
    record_done(&specimen_record, &object);
    free(text);
    memset(big, 'x', TEXT);
    memcpy(big, "{\"flag\":true,\"", 14);
    memcpy(big + TEXT, "\":1,", 5);
    text = changed("{\"flag\":true,", big);
    reads(text, &object);
    record_done(&specimen_record, &object);
    free(text);
    free(big);
    assert_true(mono_between(start, mono_now()) < 20 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_the_table_does_not_allow),
        cmocka_unit_test(refuses_too_many_and_too_long),
        cmocka_unit_test(refuses_what_is_no_json),
        cmocka_unit_test(refuses_every_shortened_text),
        cmocka_unit_test(refuses_form_before_parsing),
        cmocka_unit_test(long_texts_take_time_in_proportion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
