/* record_msgpack: every type goes out and comes back; what is not exactly as the table says is
 * refused with its place, whole. */
#include "proto/wire/record_msgpack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"
#include "tests/proto/wire/pack_json.h"
#include "tests/proto/wire/refusals.h"

/* The bytes of a literal and how many: it may hold zeros. */
#define LITERAL(text) text, sizeof(text) - 1

/* In a block of exactly their size, so that the sanitizers see a byte too far. */
static enum status read_bytes(const void *bytes, size_t length, struct specimen *out_object,
                              struct fault *fault)
{
    void *exact = malloc(length + (length == 0));
    enum status status;

    assert_non_null(exact);
    if (length > 0)
        memcpy(exact, bytes, length);
    status = record_from_msgpack(&specimen_record, exact, length, out_object, fault);
    free(exact);
    return status;
}

static void reads(const struct buf *bytes, struct specimen *out_object)
{
    struct fault fault = { "" };
    enum status status = read_bytes(bytes->data, bytes->length, out_object, &fault);

    assert_string_equal(fault.text, "");
    assert_int_equal(status, STATUS_OK);
}

/* Whatever was read before the fault is freed (the sanitizers look) and absent again. */
static void refuses(const struct buf *bytes, enum status status, const char *expected)
{
    struct specimen object, fresh;
    struct fault fault = { "" };

    memset(&object, 0xaa, sizeof object);
    record_init(&specimen_record, &fresh);
    assert_int_equal(read_bytes(bytes->data, bytes->length, &object, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_memory_equal(&object, &fresh, sizeof object);
    assert_int_equal(read_bytes(bytes->data, bytes->length, &object, NULL), status);
}

static void refuses_json(const char *text, enum status status, const char *expected)
{
    struct buf bytes;

    buf_init(&bytes, 1 << 20);
    pack_json(text, &bytes);
    refuses(&bytes, status, expected);
    buf_done(&bytes);
}

static void read_specimen(struct specimen *out_object)
{
    assert_int_equal(
        record_from_json(&specimen_record, SPECIMEN_JSON, strlen(SPECIMEN_JSON), out_object, NULL),
        STATUS_OK);
}

static void is_specimen(const struct specimen *object)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    assert_int_equal(record_to_json(&specimen_record, object, &text), STATUS_OK);
    assert_string_equal(buf_peek(&text), SPECIMEN_JSON);
    buf_done(&text);
}

static void every_type_goes_out_and_comes_back(void **state)
{
    struct specimen object, back;
    struct buf bytes;

    (void)state;
    read_specimen(&object);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(record_to_msgpack(&specimen_record, &object, &bytes), STATUS_OK);
    reads(&bytes, &back);
    is_specimen(&back);
    record_done(&specimen_record, &object);
    record_done(&specimen_record, &back);
    buf_done(&bytes);
}

/* What JSON says is the same, integers for reals included. */
static void reads_what_another_packer_writes(void **state)
{
    struct specimen object;
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 1 << 20);
    pack_json(SPECIMEN_JSON, &bytes);
    reads(&bytes, &object);
    is_specimen(&object);
    record_done(&specimen_record, &object);
    buf_done(&bytes);
}

struct sample {
    int64_t number, none;
    double real, no_real;
    char text[8], no_text[8];
    struct bytes bytes;
};

static const struct field sample_fields[] = {
    { FIELD_AT(struct sample, number), .type = FIELD_INT, .min = INT64_MIN + 1, .max = COUNT_MAX },
    { FIELD_AT(struct sample, none), .type = FIELD_INT, .flags = FIELD_NULLABLE, .max = 9 },
    { FIELD_AT(struct sample, real), .type = FIELD_REAL, .real_min = -1e300, .real_max = 1e300 },
    { FIELD_AT(struct sample, no_real), .type = FIELD_REAL, .flags = FIELD_NULLABLE },
    { FIELD_AT(struct sample, text), .type = FIELD_TEXT, .size = 8 },
    { FIELD_AT(struct sample, no_text), .type = FIELD_TEXT, .flags = FIELD_NULLABLE, .size = 8 },
    { FIELD_AT(struct sample, bytes), .type = FIELD_BYTES, .size = 3 },
};
static const struct record sample_record = { .name = "sample",
                                             .size = sizeof(struct sample),
                                             .fields = sample_fields,
                                             .count = RECORD_COUNT(sample_fields) };

#define SAMPLE_HEAD "\x87\xa6number\x07\xa4none\xc0\xa4real"
#define SAMPLE_REAL "\xcb\x3f\xf8\0\0\0\0\0\0"
#define SAMPLE_TAIL                                                                                \
    "\xa7no_real\xc0\xa4text\xa3"                                                                  \
    "abc\xa7no_text\xc0\xa5"                                                                       \
    "bytes\xc4\x02\xff\0"

static void writes_these_bytes(void **state)
{
    static const char expected[] = SAMPLE_HEAD SAMPLE_REAL SAMPLE_TAIL;
    struct sample object, back;
    struct buf bytes;

    (void)state;
    record_init(&sample_record, &object);
    object.number = 7;
    object.real = 1.5;
    memcpy(object.text, "abc", 4);
    bytes_set(&object.bytes, "\xff\0", 2);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(record_to_msgpack(&sample_record, &object, &bytes), STATUS_OK);
    assert_int_equal(bytes.length, sizeof expected - 1);
    assert_memory_equal(bytes.data, expected, bytes.length);
    assert_int_equal(record_from_msgpack(&sample_record, bytes.data, bytes.length, &back, NULL),
                     STATUS_OK);
    buf_done(&bytes); /* what was read is a copy */
    assert_true(back.number == 7 && back.none == NONE_INT && back.real == 1.5);
    assert_true(isnan(back.no_real) && back.no_text[0] == '\0');
    assert_string_equal(back.text, "abc");
    assert_int_equal(back.bytes.length, 2);
    assert_memory_equal(back.bytes.data, "\xff\0", 2);
    record_done(&sample_record, &object);
    record_done(&sample_record, &back);
}

static void says_when_the_buffer_is_full(void **state)
{
    struct specimen object;
    struct buf bytes;

    (void)state;
    read_specimen(&object);
    buf_init(&bytes, 100);
    assert_int_equal(record_to_msgpack(&specimen_record, &object, &bytes), STATUS_TOO_LARGE);
    record_done(&specimen_record, &object);
    buf_done(&bytes);
}

/* A sample with other bytes for its real. */
static enum status read_real(const char *real, size_t length, double *out_real)
{
    struct sample object;
    struct buf bytes;
    enum status status;

    buf_init(&bytes, 1 << 20);
    buf_append(&bytes, SAMPLE_HEAD, sizeof SAMPLE_HEAD - 1);
    buf_append(&bytes, real, length);
    buf_append(&bytes, SAMPLE_TAIL, sizeof SAMPLE_TAIL - 1);
    status = record_from_msgpack(&sample_record, bytes.data, bytes.length, &object, NULL);
    *out_real = object.real;
    record_done(&sample_record, &object);
    buf_done(&bytes);
    return status;
}

static void numbers_may_have_any_width(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        double value;
    } wide[] = {
        { "\x05", 1, 5 },
        { "\xff", 1, -1 },
        { "\xcc\x05", 2, 5 },
        { "\xcd\0\x05", 3, 5 },
        { "\xce\0\0\0\x05", 5, 5 },
        { "\xcf\0\0\0\0\0\0\0\x05", 9, 5 },
        { "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", 9, 9223372036854775807.0 },
        { "\xd0\x80", 2, -128 },
        { "\xd1\x80\0", 3, -32768 },
        { "\xd2\x80\0\0\0", 5, -2147483648.0 },
        { "\xd3\x80\0\0\0\0\0\0\0", 9, -9223372036854775808.0 },
        { "\xca\x3f\x80\0\0", 5, 1 },
    };
    double real;

    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        assert_int_equal(read_real(wide[i].bytes, wide[i].length, &real), STATUS_OK);
        assert_true(real == wide[i].value);
    }
    assert_int_equal(read_real("\xcf\x80\0\0\0\0\0\0\0", 9, &real), STATUS_RANGE);
    assert_int_equal(read_real("\xc2", 1, &real), STATUS_INVALID);
}

static void keys_may_come_in_any_order(void **state)
{
    static const char bytes[] = "\x83\xa4text\xa1x\xa1"
                                "z\xc0\xa6number\x09";
    struct part part;
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(record_from_msgpack(&part_record, LITERAL(bytes), &part, &fault), STATUS_OK);
    assert_int_equal(part.number, 9);
    assert_string_equal(part.text, "x");
}

/* The same keys twice: found in any number of them, and inside what nobody knows. */
static void refuses_keys_that_are_there_twice(void **state)
{
    static const int counts[] = { 2, 3, 16, 17, 18, 100, 1024 };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int twin = 0; twin < counts[i] - 1; twin += 1 + counts[i] / 7) {
            struct buf bytes;
            struct fault fault = { "" };
            char expected[64];

            buf_init(&bytes, 1 << 20);
            buf_append(&bytes, "\x81\xa1u\xde", 4);
            buf_append(&bytes, (char[]){ (char)(counts[i] >> 8), (char)counts[i] }, 2);
            for (int j = 0; j < counts[i]; j++)
                buf_printf(&bytes, "\xa5k%04d%c", j == counts[i] - 1 ? twin : j, 7);
            snprintf(expected, sizeof expected, "/u/k%04d: is there twice", twin);
            assert_int_equal(msgpack_check_form(bytes.data, bytes.length, &fault), STATUS_INVALID);
            assert_string_equal(fault.text, expected);
            memcpy(bytes.data + bytes.length - 5, "last", 4);
            assert_int_equal(msgpack_check_form(bytes.data, bytes.length, NULL), STATUS_OK);
            buf_done(&bytes);
        }
    }
}

/* Maps inside of maps with many keys each: those of the outer ones are kept meanwhile. */
static void keeps_the_keys_of_outer_maps(void **state)
{
    enum { KEYS = 40 };
    struct buf bytes;
    struct fault fault = { "" };

    (void)state;
    buf_init(&bytes, 1 << 20);
    for (int depth = 0; depth < LIMIT_MESSAGE_DEPTH; depth++) {
        buf_append(&bytes, "\xde\0", 2);
        buf_append(&bytes, (char[]){ KEYS }, 1);
        for (int i = 0; i < KEYS - 1; i++)
            buf_printf(&bytes, "\xa2%02d%c", i, 1);
        buf_append(&bytes, "\xa2in", 3);
    }
    buf_append(&bytes, "\x01", 1);
    assert_int_equal(msgpack_check_form(bytes.data, bytes.length, &fault), STATUS_OK);
    memcpy(bytes.data + 4, "in", 2); /* the first key of the outermost */
    assert_int_equal(msgpack_check_form(bytes.data, bytes.length, &fault), STATUS_INVALID);
    assert_string_equal(fault.text, "/in: is there twice");
    buf_done(&bytes);
}

struct malformed {
    const char *bytes;
    size_t length;
    enum status status;
    const char *expected;
};

static const struct malformed forms[] = {
    { LITERAL(""), STATUS_INVALID, "/: at least 1 bytes must follow, 0 are there" },
    { LITERAL("\xc0"), STATUS_INVALID, "/: not a map" },
    { LITERAL("\x01"), STATUS_INVALID, "/: not a map" },
    { LITERAL("\x90"), STATUS_INVALID, "/: not a map" },
    { LITERAL("\xc1"), STATUS_INVALID, "/: not a map" },
    { LITERAL("\xde\0"), STATUS_INVALID, "/: at least 3 bytes must follow, 2 are there" },
    { LITERAL("\x80\x80"), STATUS_INVALID, "/: 1 bytes behind the message" },
    { LITERAL("\x80\xc1"), STATUS_INVALID, "/: 1 bytes behind the message" },
    { LITERAL("\x81"), STATUS_INVALID, "/: at least 2 bytes must follow, 0 are there" },
    { LITERAL("\x81\xa1"), STATUS_INVALID, "/: at least 2 bytes must follow, 1 are there" },
    { LITERAL("\x81\x01\x01"), STATUS_INVALID, "/: a key that is no text" },
    { LITERAL("\x81\xc0\x01"), STATUS_INVALID, "/: a key that is no text" },
    { LITERAL("\x81\xc4\x01xx"), STATUS_INVALID, "/: a key that is no text" },
    { LITERAL("\x81\x90\x01"), STATUS_INVALID, "/: a key that is no text" },
    { LITERAL("\x81\xc1\x01"), STATUS_INVALID, "/: a key that is no text" },
    { LITERAL("\x81\xa1\xff\x01"), STATUS_INVALID, "/: text that is no UTF-8" },
    { LITERAL("\x81\xa1\0\x01"), STATUS_INVALID, "/: text with a zero byte" },
    { LITERAL("\x81\xa1u\xc1"), STATUS_INVALID, "/u: the reserved byte 0xc1" },
    { LITERAL("\x81\xa1u\xd4\x01\x01"), STATUS_INVALID, "/u: an extension type" },
    { LITERAL("\x81\xa1u\xd8\x01\x01"), STATUS_INVALID, "/u: an extension type" },
    { LITERAL("\x81\xa1u\xc7\x01\x01\x01"), STATUS_INVALID, "/u: an extension type" },
    { LITERAL("\x81\xa1u\xc9\xff\xff\xff\xff"), STATUS_INVALID, "/u: an extension type" },
    { LITERAL("\x81\xa1u\xa2\xc3\x28"), STATUS_INVALID, "/u: text that is no UTF-8" },
    { LITERAL("\x81\xa1u\xa3\xed\xa0\x80"), STATUS_INVALID, "/u: text that is no UTF-8" },
    { LITERAL("\x81\xa1u\xa2x\0"), STATUS_INVALID, "/u: text with a zero byte" },
    { LITERAL("\x81\xa1u\xa2x"), STATUS_INVALID, "/u: at least 2 bytes must follow, 1 are there" },
    { LITERAL("\x81\xa1u\xdb\xff\xff\xff\xffx"), STATUS_INVALID,
      "/u: at least 4294967295 bytes must follow, 1 are there" },
    { LITERAL("\x81\xa1u\xc6\x7f\xff\xff\xffx"), STATUS_INVALID,
      "/u: at least 2147483647 bytes must follow, 1 are there" },
    { LITERAL("\x81\xa1u\xdd\x10\0\0\0\x01"), STATUS_INVALID,
      "/u: at least 268435456 bytes must follow, 1 are there" },
    { LITERAL("\x81\xa1u\xdd\xff\xff\xff\xff\x01"), STATUS_INVALID,
      "/u: at least 4294967295 bytes must follow, 1 are there" },
    { LITERAL("\x81\xa1u\xde\x04\x01\x01"), STATUS_TOO_LARGE,
      "/u: 1025 entries, at most 1024 are allowed" },
    { LITERAL("\xdf\xff\xff\xff\xff"), STATUS_TOO_LARGE,
      "/: 4294967295 entries, at most 1024 are allowed" },
    { LITERAL("\x81\xa1u\x93\x01\x92\x02\xc1"), STATUS_INVALID, "/u/1/1: the reserved byte 0xc1" },
    { LITERAL("\x81\xa3/~x\x81\xa1y\xc1"), STATUS_INVALID, "/~1~0x/y: the reserved byte 0xc1" },
    { LITERAL("\x81\xa1u\xca\x7f\xc0\0\0"), STATUS_INVALID, "/u: not a finite number" },
    { LITERAL("\x81\xa1u\xca\xff\x80\0\0"), STATUS_INVALID, "/u: not a finite number" },
    { LITERAL("\x81\xa1u\xcb\x7f\xf0\0\0\0\0\0\0"), STATUS_INVALID, "/u: not a finite number" },
    { LITERAL("\x81\xa1u\xcb\x7f\xf8\0\0\0\0\0\x01"), STATUS_INVALID, "/u: not a finite number" },
    { LITERAL("\x81\xa1u\xcb\xff\xf0\0\0\0\0\0\0"), STATUS_INVALID, "/u: not a finite number" },
    { LITERAL("\x81\xa1u\xcf\x80\0\0\0\0\0\0\0"), STATUS_RANGE,
      "/u: an integer above 9223372036854775807" },
    { LITERAL("\x82\xa1u\x01\xa1u\x01"), STATUS_INVALID, "/u: is there twice" },
    { LITERAL("\x82\xa1u\x01\xd9\x01u\x01"), STATUS_INVALID, "/u: is there twice" },
    { LITERAL("\x81\xa1v\x82\xa0\x01\xa0\x01"), STATUS_INVALID, "/v/: is there twice" },
};

static void refuses_malformed_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct fault fault = { "" };
        struct buf bytes;

        buf_init(&bytes, 1 << 20);
        buf_append(&bytes, forms[i].bytes, forms[i].length);
        assert_int_equal(msgpack_check_form(forms[i].bytes, forms[i].length, &fault),
                         forms[i].status);
        assert_string_equal(fault.text, forms[i].expected);
        refuses(&bytes, forms[i].status, forms[i].expected);
        buf_done(&bytes);
    }
}

static void nests_as_deep_as_the_limit(void **state)
{
    struct buf bytes;
    struct fault fault = { "" };

    (void)state;
    buf_init(&bytes, 1 << 20);
    buf_append(&bytes, "\x81\xa1u", 3);
    for (int i = 2; i < LIMIT_MESSAGE_DEPTH; i++)
        buf_append(&bytes, "\x91", 1);
    buf_append(&bytes, "\x90", 1);
    assert_int_equal(msgpack_check_form(bytes.data, bytes.length, &fault), STATUS_OK);
    bytes.data[bytes.length - 1] = '\x91';
    buf_append(&bytes, "\x90", 1);
    assert_int_equal(msgpack_check_form(bytes.data, bytes.length, &fault), STATUS_TOO_LARGE);
    assert_string_equal(fault.text,
                        "/u/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested deeper than 16 levels");
    buf_done(&bytes);
}

static void refuses_every_shortened_message(void **state)
{
    struct specimen object;
    struct buf bytes;

    (void)state;
    read_specimen(&object);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(record_to_msgpack(&specimen_record, &object, &bytes), STATUS_OK);
    record_done(&specimen_record, &object);
    for (size_t length = 0; length < bytes.length; length++) {
        struct fault fault = { "" };

        assert_int_equal(read_bytes(bytes.data, length, &object, &fault), STATUS_INVALID);
        assert_true(fault.text[0] == '/');
    }
    buf_done(&bytes);
}

static void refuses_what_the_table_does_not_allow(void **state)
{
    (void)state;
    refuse_specimens(refuses_json);
    refuse_large(refuses_json);
}

static void bytes_are_no_text_and_not_too_many(void **state)
{
    static const char text[] = "\x87\xa6number\x07\xa4none\xc0\xa4real\x01\xa7no_real\xc0"
                               "\xa4text\xa1x\xa7no_text\xc0\xa5"
                               "bytes\xa1x";
    static const char four[] = "\x87\xa6number\x07\xa4none\xc0\xa4real\x01\xa7no_real\xc0"
                               "\xa4text\xa1x\xa7no_text\xc0\xa5"
                               "bytes\xc4\x04xxxx";
    struct sample object;
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(record_from_msgpack(&sample_record, LITERAL(text), &object, &fault),
                     STATUS_INVALID);
    assert_string_equal(fault.text, "/bytes: text \"x\" is not allowed: at most 3 bytes");
    assert_int_equal(record_from_msgpack(&sample_record, LITERAL(four), &object, &fault),
                     STATUS_RANGE);
    assert_string_equal(fault.text, "/bytes: 4 bytes is not allowed: at most 3 bytes");
}

static void ignores_what_it_does_not_know(void **state)
{
    char *text = changed("\"small\":-3", "\"small\":-3,\"new\":{\"x\":[1,{\"y\":\"z\"}]}");
    struct specimen object;
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 1 << 20);
    pack_json(text, &bytes);
    reads(&bytes, &object);
    is_specimen(&object);
    record_done(&specimen_record, &object);
    buf_done(&bytes);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_out_and_comes_back),
        cmocka_unit_test(reads_what_another_packer_writes),
        cmocka_unit_test(writes_these_bytes),
        cmocka_unit_test(says_when_the_buffer_is_full),
        cmocka_unit_test(numbers_may_have_any_width),
        cmocka_unit_test(keys_may_come_in_any_order),
        cmocka_unit_test(refuses_keys_that_are_there_twice),
        cmocka_unit_test(keeps_the_keys_of_outer_maps),
        cmocka_unit_test(refuses_malformed_bytes),
        cmocka_unit_test(nests_as_deep_as_the_limit),
        cmocka_unit_test(refuses_every_shortened_message),
        cmocka_unit_test(refuses_what_the_table_does_not_allow),
        cmocka_unit_test(bytes_are_no_text_and_not_too_many),
        cmocka_unit_test(ignores_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
