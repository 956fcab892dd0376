/* message: each comes back as it went out, from those who may send it, and nothing else passes. */
#include "proto/wire/message.h"

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
#include "proto/wire/record_msgpack.h"
#include "tests/proto/wire/fill.h"
#include "tests/proto/wire/pack_json.h"

enum { ROOM = 8 << 20, FEW = 3 };

static struct message_way way_of(enum message_type type)
{
    const struct message_kind *kind = &message_kinds[type];

    return (struct message_way){ kind->from == ROLE_COUNT ? ROLE_AGENT : kind->from,
                                 kind->to == ROLE_COUNT ? ROLE_CONTROLLER : kind->to };
}

static void fill_message(struct filler *filler, enum message_type type, union message *out_message)
{
    message_init(out_message, type);
    fill_record(filler, message_kinds[type].record, out_message);
    out_message->type = type;
}

static void put(const union message *message, struct buf *out_bytes)
{
    buf_init(out_bytes, ROOM);
    assert_int_equal(message_put(message, out_bytes), STATUS_OK);
}

/* In a block of exactly their size, so that the sanitizers see a byte too far. */
static enum status get(const void *bytes, size_t length, struct message_way way,
                       union message *out_message, struct fault *fault)
{
    void *exact = malloc(length + (length == 0));
    enum status status;

    assert_non_null(exact);
    if (length > 0)
        memcpy(exact, bytes, length);
    status = message_get(exact, length, way, out_message, fault);
    free(exact);
    return status;
}

static void refuses(const struct buf *bytes, struct message_way way, enum status status,
                    const char *expected)
{
    union message message;
    struct fault fault = { "" };

    assert_int_equal(get(bytes->data, bytes->length, way, &message, &fault), status);
    assert_string_equal(fault.text, expected);
}

static void comes_back(struct filler *filler, enum message_type type)
{
    union message message, back;
    struct fault fault = { "" };
    struct buf once, twice;

    fill_message(filler, type, &message);
    put(&message, &once);
    message_done(&message);
    if (get(once.data, once.length, way_of(type), &back, &fault) != STATUS_OK)
        fail_msg("%s: %s", message_names[type], fault.text);
    assert_int_equal(back.type, type);
    put(&back, &twice);
    message_done(&back);
    assert_int_equal(once.length, twice.length);
    assert_memory_equal(once.data, twice.data, once.length);
    buf_done(&once);
    buf_done(&twice);
}

static void each_comes_back(void **state)
{
    struct filler filler = { .chance = chance_start("messages"), .list_cap = FEW };

    (void)state;
    for (int type = 0; type < MESSAGE_COUNT; type++) {
        filler.how = FILL_LEAST;
        comes_back(&filler, (enum message_type)type);
        filler.how = FILL_MOST;
        comes_back(&filler, (enum message_type)type);
        filler.how = FILL_RANDOM;
        for (int i = 0; i < 20; i++)
            comes_back(&filler, (enum message_type)type);
    }
}

/* That a form is the same twice does not show that it says what the struct does. */
static void says_what_the_struct_does(void **state)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 1, 2, 3, [31] = 255 };
    union message message, back;
    struct buf bytes;

    (void)state;
    message_init(&message, MESSAGE_OPEN);
    memcpy(message.open.session, "s-1", 4);
    memcpy(message.open.target, "[fe80::1%eth0]:7900", 20);
    message.open.role = END_ECHO;
    message.open.ssid = 1234;
    message.open.of_case.idle_s = 1.5;
    message.open.of_case.params = (struct case_params){ .payload = 1472,
                                                .window = 2,
                                                .repeat = 1,
                                                .common = { .clients = 16,
                                                            .io_threads = 1,
                                                            .seconds = 2.5,
                                                            .rcvbuf = 1 << 20,
                                                            .sndbuf = 1 << 20 } };
    bytes_set(&message.open.key, key, sizeof key);
    put(&message, &bytes);
    message_done(&message);
    assert_int_equal(message_get(bytes.data, bytes.length, way_of(MESSAGE_OPEN), &back, NULL),
                     STATUS_OK);
    buf_done(&bytes); /* what was read is a copy */
    assert_string_equal(back.open.session, "s-1");
    assert_string_equal(back.open.run, "");
    assert_string_equal(back.open.target, "[fe80::1%eth0]:7900");
    assert_true(back.open.role == END_ECHO && back.open.ssid == 1234 && back.open.of_case.idle_s == 1.5);
    assert_true(back.open.of_case.params.payload == 1472 && back.open.of_case.params.common.clients == 16);
    assert_true(back.open.of_case.params.common.seconds == 2.5);
    assert_int_equal(back.open.key.length, sizeof key);
    assert_memory_equal(back.open.key.data, key, sizeof key);
    message_done(&back);
}

/* By name, so that neither a row moved in message_kinds nor one added goes unseen. */
static void only_these_may_send_to_these(void **state)
{
    static const struct {
        const char *names, *from, *to; /* "": anybody */
    } rights[] = {
        { " ping bye ", "", "" },
        { " hello status opened refused begun progress ended closed failed result ", "agent",
          "controller" },
        { " welcome open begin end close committed ", "controller", "agent" },
        { " list_agents run stop list_results show ", "operator", "controller" },
        { " agents accepted run_progress case_done run_done results part error ", "controller",
          "operator" },
    };
    struct filler filler = { .how = FILL_LEAST };
    int allowed = 0;

    (void)state;
    for (int i = 0; i < MESSAGE_COUNT * ROLE_COUNT * ROLE_COUNT; i++) {
        enum message_type type = (enum message_type)(i / (ROLE_COUNT * ROLE_COUNT));
        struct message_way way = { (enum identity_role)(i / ROLE_COUNT % ROLE_COUNT),
                                   (enum identity_role)(i % ROLE_COUNT) };
        const char *from = role_names[way.from], *to = role_names[way.to];
        union message message;
        struct buf bytes;
        char name[64], expected[128];
        size_t row = 0;

        snprintf(name, sizeof name, " %s ", message_names[type]);
        while (strstr(rights[row].names, name) == NULL)
            row++;
        fill_message(&filler, type, &message);
        put(&message, &bytes);
        message_done(&message);
        if (*rights[row].from == '\0' ||
            (strcmp(rights[row].from, from) == 0 && strcmp(rights[row].to, to) == 0)) {
            assert_int_equal(get(bytes.data, bytes.length, way, &message, NULL), STATUS_OK);
            message_done(&message);
            allowed++;
        } else {
            snprintf(expected, sizeof expected, "%s must not send \"%s\" to %s", from,
                     message_names[type], to);
            refuses(&bytes, way, STATUS_DENIED, expected);
        }
        buf_done(&bytes);
    }
    assert_int_equal(allowed, 2 * 9 + 10 + 6 + 5 + 8);
}

/* The value of one field, as msgpack, instead of its own; NULL: the key is missing. */
struct change {
    const struct field *field;
    const struct buf *value;
};

/* The message with the change, key by key. */
static void put_changed(const struct record *record, const void *message, struct change change,
                        struct buf *out_bytes)
{
    size_t count = record->count - (change.value == NULL);

    buf_init(out_bytes, ROOM);
    buf_append(out_bytes, (uint8_t[]){ 0xde, 0, (uint8_t)count }, 3);
    for (size_t i = 0; i < record->count; i++) {
        const struct record alone = { .name = "one", .fields = &record->fields[i], .count = 1 };
        const char *name = record->fields[i].name;
        struct buf one;

        assert_true(record->fields[i].type != FIELD_INLINE && strlen(name) < 32);
        buf_init(&one, ROOM);
        assert_int_equal(record_to_msgpack(&alone, message, &one), STATUS_OK);
        if (&record->fields[i] != change.field) {
            buf_append(out_bytes, one.data + 1, one.length - 1);
        } else if (change.value != NULL) {
            buf_append(out_bytes, one.data + 1, 1 + strlen(name));
            buf_append(out_bytes, change.value->data, change.value->length);
        }
        buf_done(&one);
    }
    assert_int_equal(buf_status(out_bytes), STATUS_OK);
}

/* `value` (JSON) instead of the field's own. */
static void refuses_value(enum message_type type, const struct field *field, const char *value,
                          enum status status)
{
    const struct record *record = message_kinds[type].record;
    struct filler filler = { .how = FILL_LEAST };
    union message message;
    struct fault fault = { "" };
    struct buf bytes, packed;
    char place[64];

    buf_init(&packed, ROOM);
    if (value != NULL)
        pack_json(value, &packed);
    fill_message(&filler, type, &message);
    put_changed(record, &message, (struct change){ field, value == NULL ? NULL : &packed }, &bytes);
    message_done(&message);
    snprintf(place, sizeof place, "/%s: ", field->name);
    if (get(bytes.data, bytes.length, way_of(type), &message, &fault) != status ||
        strncmp(fault.text, place, strlen(place)) != 0)
        fail_msg("%s %s %.60s: %s", message_names[type], field->name, value, fault.text);
    buf_done(&bytes);
    buf_done(&packed);
}

/* `count` times `unit` between two words. */
static char *repeated(const char *before, const char *unit, size_t count, const char *after)
{
    size_t size = strlen(before) + count * strlen(unit) + strlen(after) + 1;
    char *text = malloc(size), *at = text;

    assert_non_null(text);
    at += snprintf(at, size, "%s", before);
    for (size_t i = 0; i < count; i++, at += strlen(unit))
        memcpy(at, unit, strlen(unit));
    memcpy(at, after, strlen(after) + 1);
    return text;
}

static void refuses_too_much(enum message_type type, const struct field *field)
{
    char text[64], *large = NULL;

    if (field->type == FIELD_INT && field->max < COUNT_MAX) {
        snprintf(text, sizeof text, "%lld", (long long)field->max + 1);
        refuses_value(type, field, text, STATUS_RANGE);
    } else if (field->type == FIELD_REAL) {
        snprintf(text, sizeof text, "%.17g", nextafter(field->real_max, 1e308));
        refuses_value(type, field, text, STATUS_RANGE);
    } else if (field->type == FIELD_TEXT) {
        large = repeated("\"", "x", field->size, "\"");
        refuses_value(type, field, large, STATUS_RANGE);
    } else if (field->type == FIELD_LIST) {
        large = repeated("[", "1,", field->size, "1]");
        refuses_value(type, field, large, STATUS_TOO_LARGE);
    }
    free(large);
}

static void refuses_too_little(enum message_type type, const struct field *field)
{
    char text[64];

    if (field->type == FIELD_INT) {
        snprintf(text, sizeof text, "%lld", (long long)field->min - 1);
        refuses_value(type, field, text, STATUS_RANGE);
    } else if (field->type == FIELD_REAL) {
        snprintf(text, sizeof text, "%.17g", nextafter(field->real_min, -1e308));
        refuses_value(type, field, text, STATUS_RANGE);
    } else if (field->type == FIELD_ENUM) {
        refuses_value(type, field, "\"\"", STATUS_RANGE);
        refuses_value(type, field, "\"sonde\"", STATUS_RANGE);
    }
}

/* Every field of every message: absent, of another type, beyond each end of its range. */
static void each_field_has_its_limits(void **state)
{
    (void)state;
    for (int i = 0; i < MESSAGE_COUNT; i++) {
        enum message_type type = (enum message_type)i;

        for (size_t j = 0; j < message_kinds[type].record->count; j++) {
            const struct field *field = &message_kinds[type].record->fields[j];

            refuses_value(type, field, NULL, STATUS_INVALID);
            if ((field->flags & FIELD_NULLABLE) == 0)
                refuses_value(type, field, "null", STATUS_INVALID);
            if (field->type != FIELD_BOOL)
                refuses_value(type, field, "true", STATUS_INVALID);
            if (field->type != FIELD_LIST)
                refuses_value(type, field, "[1]", STATUS_INVALID);
            if (field->type != FIELD_INT && field->type != FIELD_REAL)
                refuses_value(type, field, "7", STATUS_INVALID);
            if (field->type != FIELD_TEXT && field->type != FIELD_ENUM)
                refuses_value(type, field, "\"x\"", STATUS_INVALID);
            refuses_too_much(type, field);
            refuses_too_little(type, field);
        }
    }
}

static void bytes_have_their_limits(void **state)
{
    static const struct {
        enum message_type type;
        const char *name;
        size_t length;
        const char *expected;
    } wrong[] = {
        { MESSAGE_OPEN, "key", 31, "/key: 31 bytes is not allowed: 32 bytes" },
        { MESSAGE_OPEN, "key", 33, "/key: 33 bytes is not allowed: 32 bytes" },
        { MESSAGE_RESULT, "body", LIMIT_RESULT_BYTES + 1,
          "/body: 1044481 bytes is not allowed: at most 1044480 bytes" },
        { MESSAGE_PART, "data", LIMIT_PART_BYTES + 1,
          "/data: 262145 bytes is not allowed: at most 262144 bytes" },
    };
    struct filler filler = { .how = FILL_LEAST };
    uint8_t *data = calloc(1, LIMIT_RESULT_BYTES + 1);

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct record *record = message_kinds[wrong[i].type].record;
        uint8_t head[5] = { 0xc6, 0, (uint8_t)(wrong[i].length >> 16),
                            (uint8_t)(wrong[i].length >> 8), (uint8_t)wrong[i].length };
        union message message;
        struct buf bytes, value;

        buf_init(&value, ROOM);
        buf_append(&value, head, sizeof head);
        buf_append(&value, data, wrong[i].length);
        fill_message(&filler, wrong[i].type, &message);
        put_changed(record, &message,
                    (struct change){ record_field(record, wrong[i].name, NULL), &value }, &bytes);
        message_done(&message);
        refuses(&bytes, way_of(wrong[i].type), STATUS_RANGE, wrong[i].expected);
        buf_done(&value);
        buf_done(&bytes);
    }
    free(data);
}

/* What the caps allow together fits into a frame: a result, and a part of an archive. */
static void the_largest_fit_into_a_frame(void **state)
{
    static const enum message_type types[] = { MESSAGE_RESULT, MESSAGE_PART, MESSAGE_OPEN };
    struct filler filler = { .how = FILL_MOST };

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        union message message;
        struct buf bytes;

        fill_message(&filler, types[i], &message);
        put(&message, &bytes);
        assert_true(bytes.length <= LIMIT_FRAME);
        message_done(&message);
        buf_done(&bytes);
    }
}

static void refuses_what_is_no_message(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum status status;
        const char *start;
    } wrong[] = {
        { "", 0, STATUS_INVALID, "/: at least 1 bytes" },
        { "\x80", 1, STATUS_INVALID, "/type: missing" },
        { "\xa4ping", 5, STATUS_INVALID, "/: not a map" },
        { "\x81\xa4type\xa4pong", 11, STATUS_RANGE,
          "/type: text \"pong\" is not allowed: one of ping, bye, hello" },
        { "\x81\xa4type\xa3pin", 10, STATUS_RANGE, "/type: text \"pin\"" },
        { "\x81\xa4type\x00", 7, STATUS_INVALID, "/type: an integer 0 is not allowed" },
        { "\x81\xa4type\xc4\x04ping", 12, STATUS_INVALID, "/type: 4 bytes is not allowed" },
        { "\x82\xa4type\xa4ping\xa4type\xa4ping", 21, STATUS_INVALID, "/type: is there twice" },
        { "\x81\xa4type\xa4ping\x80", 12, STATUS_INVALID, "/: 1 bytes behind the message" },
        { "\x82\xa4type\xa4ping\xa1x\xdd\xff\xff\xff\xff", 18, STATUS_INVALID,
          "/x: at least 4294967295 bytes must follow" },
        { "\x82\xa4type\xa4ping\x01\x01", 13, STATUS_INVALID, "/: a key that is no text" },
    };
    struct message_way way = { ROLE_AGENT, ROLE_CONTROLLER };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        union message message;
        struct fault fault = { "" };

        assert_int_equal(get(wrong[i].bytes, wrong[i].length, way, &message, &fault),
                         wrong[i].status);
        if (strncmp(fault.text, wrong[i].start, strlen(wrong[i].start)) != 0)
            fail_msg("%s: not: %s", wrong[i].start, fault.text);
    }
}

static void ignores_fields_that_it_does_not_know(void **state)
{
    static const char ping[] = "\x83\xa3new\x91\x81\xa1x\xc0\xa4type\xa4ping\xa5later\xc4\x01x";
    union message message;

    (void)state;
    assert_int_equal(get(ping, sizeof ping - 1, (struct message_way){ ROLE_OPERATOR, ROLE_AGENT },
                         &message, NULL),
                     STATUS_OK);
    assert_int_equal(message.type, MESSAGE_PING);
}

/* Cut at any byte, and with any one byte changed: refused, or read as something that holds. */
static void no_damage_does_harm(void **state)
{
    struct filler filler = { .how = FILL_LEAST, .chance = chance_start("damage") };

    (void)state;
    for (int i = 0; i < MESSAGE_COUNT; i++) {
        enum message_type type = (enum message_type)i;
        union message message;
        struct buf bytes;

        fill_message(&filler, type, &message);
        put(&message, &bytes);
        message_done(&message);
        for (size_t length = 0; length < bytes.length; length++)
            assert_int_equal(get(bytes.data, length, way_of(type), &message, NULL), STATUS_INVALID);
        for (size_t at = 0; at < bytes.length; at++) {
            char kept = bytes.data[at];

            bytes.data[at] = (char)chance_next(&filler.chance);
            if (get(bytes.data, bytes.length, way_of(type), &message, NULL) == STATUS_OK) {
                assert_int_equal(record_check(message_kinds[message.type].record, &message, NULL),
                                 STATUS_OK);
                message_done(&message);
            }
            bytes.data[at] = kept;
        }
        buf_done(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_comes_back),
        cmocka_unit_test(says_what_the_struct_does),
        cmocka_unit_test(only_these_may_send_to_these),
        cmocka_unit_test(each_field_has_its_limits),
        cmocka_unit_test(bytes_have_their_limits),
        cmocka_unit_test(the_largest_fit_into_a_frame),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(ignores_fields_that_it_does_not_know),
        cmocka_unit_test(no_damage_does_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
