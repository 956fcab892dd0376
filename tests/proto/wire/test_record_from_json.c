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
#include "tests/proto/wire/specimen.h"

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

struct refusal {
    const char *from, *to;
    const char *expected;
};

static void refuses_each(const struct refusal *refusals, size_t count, enum status status)
{
    for (size_t i = 0; i < count; i++) {
        char *text = changed(refusals[i].from, refusals[i].to);

        refuses_text(text, status, refusals[i].expected);
        free(text);
    }
}

#define REFUSES_EACH(refusals, status)                                                             \
    refuses_each(refusals, sizeof(refusals) / sizeof((refusals)[0]), status)

static const struct refusal wrong_types[] = {
    { "\"flag\":true", "\"flag\":1", "/flag: an integer 1 is not allowed: true or false" },
    { "\"small\":-3", "\"small\":\"3\"",
      "/small: text \"3\" is not allowed: an integer from -3 to 10" },
    { "\"small\":-3", "\"small\":3.0",
      "/small: a number with a fraction 3 is not allowed: an integer from -3 to 10" },
    { "\"small\":-3", "\"small\":null", "/small: null is not allowed: an integer from -3 to 10" },
    { "\"maybe\":null", "\"maybe\":[]",
      "/maybe: a list is not allowed: an integer from 0 up or null" },
    { "\"real\":2304", "\"real\":\"1\"",
      "/real: text \"1\" is not allowed: a number from 0.5 to 1e+18" },
    { "\"real\":2304", "\"real\":null", "/real: null is not allowed: a number from 0.5 to 1e+18" },
    { "\"maybe_text\":null", "\"maybe_text\":1",
      "/maybe_text: an integer 1 is not allowed: UTF-8 text of at most 15 bytes or null" },
    { "\"colour\":\"blue\"", "\"colour\":null",
      "/colour: null is not allowed: one of red, green, blue" },
    { "\"part\":{", "\"part\":null,\"p\":{", "/part: null is not allowed: an object (part)" },
    { "\"maybe_part\":null", "\"maybe_part\":[]",
      "/maybe_part: a list is not allowed: an object (part)" },
    { "\"number\":7", "\"number\":true",
      "/part/number: true or false is not allowed: an integer from 0 to 10" },
    { "\"first\":1", "\"first\":{}", "/first: an object is not allowed: an integer from 0 to 10" },
    { "\"named\":{", "\"named\":null,\"n\":{", "/named: null is not allowed: an object" },
    { "\"a/b\":null", "\"a/b\":\"x\"",
      "/named/a~1b: text \"x\" is not allowed: an integer from 0 up or null" },
    { "[3,0,10]", "null", "/ints: null is not allowed: a list" },
    { "[3,0,10]", "[3,null]", "/ints/1: null is not allowed: an integer from 0 to 10" },
    { "[0.5,1]", "[0.5,\"\"]", "/reals/1: text \"\" is not allowed: a number from 0 to 10" },
    { "[\"green\"]", "[1]", "/colours/0: an integer 1 is not allowed: one of red, green, blue" },
    { "[3,4]", "[3]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up" },
    { "[3,4]", "[3,4,5]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up" },
    { "[3,4]", "[3,-4]", "/pairs/1: a list is not allowed: a pair of integers [a, b] from 0 up" },
    { "[0,1.5]", "[0]", "/points/0: a list is not allowed: a pair of numbers [x, y]" },
    { "[0,1.5]", "[0,1.5,2]", "/points/0: a list is not allowed: a pair of numbers [x, y]" },
    { "[-2,3]", "[null,3]", "/points/1: a list is not allowed: a pair of numbers [x, y]" },
    { "[-2,3]", "[\"-2\",3]", "/points/1: a list is not allowed: a pair of numbers [x, y]" },
    { "[-2,3]", "-2", "/points/1: an integer -2 is not allowed: a pair of numbers [x, y]" },
    { "[-2,3]", "[1,2],[3,4],[5,6]", "/points: 4 entries, at most 3 are allowed" },
    { "\"frost\":9", "\"frost\":null", "/frost: null is not allowed: an integer from 0 to 10" },
    { "[\"sonde\",", "[\"sonde\",null,", "/words: 3 entries, at most 2 are allowed" },
    { "{\"number\":2", "null,{\"number\":2", "/parts/1: null is not allowed: an object (part)" },
    { "\"text\":\"two\"", "\"text\":2",
      "/parts/1/text: an integer 2 is not allowed: UTF-8 text of at most 7 bytes" },
    { "\"net.core/rmem~\":4", "\"net.core/rmem~\":4.5",
      "/numbers/net.core~1rmem~0: a number with a fraction 4.5 is not allowed: an integer from "
      "-9223372036854775807 up or null" },
    { "\"zeromq\":\"4.3.4\"", "\"zeromq\":null",
      "/texts/zeromq: null is not allowed: UTF-8 text of at most 255 bytes" },
};

static void refuses_wrong_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_types / sizeof wrong_types[0]; i++) {
        bool size = strstr(wrong_types[i].expected, "entries") != NULL;

        refuses_each(&wrong_types[i], 1, size ? STATUS_TOO_LARGE : STATUS_INVALID);
    }
}

static void refuses_values_out_of_range(void **state)
{
    static const struct refusal refusals[] = {
        { "\"count\":9007199254740993", "\"count\":-1",
          "/count: an integer -1 is not allowed: an integer from 0 up" },
        { "\"count\":9007199254740993", "\"count\":-9223372036854775808",
          "/count: an integer -9223372036854775808 is not allowed: an integer from 0 up" },
        { "\"small\":-3", "\"small\":-4",
          "/small: an integer -4 is not allowed: an integer from -3 to 10" },
        { "\"maybe\":null", "\"maybe\":-9223372036854775808",
          "/maybe: an integer -9223372036854775808 is not allowed: an integer from 0 up or null" },
        { "\"real\":2304", "\"real\":0.25",
          "/real: a number with a fraction 0.25 is not allowed: a number from 0.5 to 1e+18" },
        { "\"real\":2304", "\"real\":9223372036854775807",
          "/real: an integer 9223372036854775807 is not allowed: a number from 0.5 to 1e+18" },
        { "\"maybe_text\":null", "\"maybe_text\":\"0123456789abcdef\"",
          "/maybe_text: text \"0123456789abcdef\" is not allowed: UTF-8 text of at most 15 bytes "
          "or null" },
        { "\"colour\":\"blue\"", "\"colour\":\"Blue\"",
          "/colour: text \"Blue\" is not allowed: one of red, green, blue" },
        { "\"ip.~\":5", "\"ip.~\":-5",
          "/named/ip.~0: an integer -5 is not allowed: an integer from 0 up or null" },
        { "\"ip.~\":5", "\"ip.~\":-9223372036854775808",
          "/named/ip.~0: an integer -9223372036854775808 is not allowed: an integer from 0 up or "
          "null" },
        { "\"lower\":-1", "\"lower\":-9223372036854775808",
          "/numbers/lower: an integer -9223372036854775808 is not allowed: an integer from "
          "-9223372036854775807 up or null" },
        { "[3,0,10]", "[3,0,11]",
          "/ints/2: an integer 11 is not allowed: an integer from 0 to 10" },
        { "\"a/b~c\":2.5", "\"a/b~c\":25",
          "/a~1b~0c: an integer 25 is not allowed: a number from 0 to 10" },
    };

    (void)state;
    REFUSES_EACH(refusals, STATUS_RANGE);
}

static void refuses_missing_keys(void **state)
{
    static const struct refusal refusals[] = {
        { "\"flag\":true,", "", "/flag: missing" },
        { "\"maybe\":null,", "", "/maybe: missing" },
        { "\"number\":7,", "", "/part/number: missing" },
        { "\"second\":0.125,", "", "/second: missing" },
        { "\"frost\":9,", "", "/frost: missing" },
        { "\"colour\":\"blue\"", "\"colour\":\"red\"", "/heat: missing" },
        { ",\"text\":\"two\"", "", "/parts/1/text: missing" },
        { "\"nameds\":", "\"named2\":", "/nameds: missing" },
        { ",\"a/b~c\":2.5", "", "/a~1b~0c: missing" },
    };

    (void)state;
    REFUSES_EACH(refusals, STATUS_INVALID);
    refuses_text("{}", STATUS_INVALID, "/flag: missing");
}

static void refuses_too_many_and_too_long(void **state)
{
    struct refusal refusal = { "[3,0,10]", "[1,2,3,4]", "/ints: 4 entries, at most 3 are allowed" };
    char *big = malloc(1 << 20);

    (void)state;
    assert_non_null(big);
    refuses_each(&refusal, 1, STATUS_TOO_LARGE);
    memcpy(big, "\"lower\":-1", 11);
    for (int i = 0; i < LIMIT_MAP_ENTRIES; i++)
        snprintf(big + strlen(big), 32, ",\"key%d\":1", i);
    refusal =
        (struct refusal){ "\"lower\":-1", big, "/numbers: 1027 entries, at most 1024 are allowed" };
    refuses_each(&refusal, 1, STATUS_TOO_LARGE);
    snprintf(big, 1 << 20, "\"%064d\":-1", 0);
    refusal.expected = "/numbers/0000000000000000000000000000000000000000000000000000000000000000: "
                       "key longer than 63 bytes";
    refuses_each(&refusal, 1, STATUS_TOO_LARGE);
    snprintf(big, 1 << 20, "\"4.3%0253d\"", 0);
    refusal = (struct refusal){ "\"4.3.4\"", big,
                                "/texts/zeromq: text \"4.30000000000000000000000000000000000000\" "
                                "is not allowed: UTF-8 text of at most 255 bytes" };
    refuses_each(&refusal, 1, STATUS_RANGE);
    snprintf(big, 1 << 20, "\"%04097d\"", 0);
    refusal = (struct refusal){ "\"sonde\"", big,
                                "/words/0: text \"0000000000000000000000000000000000000000\" is "
                                "not allowed: UTF-8 text of at most 4096 bytes" };
    refuses_each(&refusal, 1, STATUS_RANGE);
    free(big);
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
        cmocka_unit_test(refuses_wrong_types),
        cmocka_unit_test(refuses_values_out_of_range),
        cmocka_unit_test(refuses_missing_keys),
        cmocka_unit_test(refuses_too_many_and_too_long),
        cmocka_unit_test(refuses_what_is_no_json),
        cmocka_unit_test(refuses_every_shortened_text),
        cmocka_unit_test(refuses_form_before_parsing),
        cmocka_unit_test(long_texts_take_time_in_proportion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
