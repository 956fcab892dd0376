/* message: every field of every message has its type and its range, and bytes their length. */
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
#include "tests/proto/wire/message_stand.h"
#include "tests/proto/wire/pack_json.h"

/* One message as its table has it, but for an object that is one of several: that it is `kind`. */
static void fill_kind(enum message_type type, int kind, union message *out_message)
{
    const struct record *record = message_kinds[type].record;
    struct filler filler = { .how = FILL_LEAST };

    fill_message(&filler, type, out_message);
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (field->type != FIELD_INLINE || field->when == 0)
            continue;
        memcpy((char *)out_message + field->when - 1, &kind, sizeof kind);
        if (field->when_value == kind)
            fill_record(&filler, field->record, (char *)out_message + field->offset);
    }
}

/* The fields that stand in the message's map, those of an inline record among them. */
struct keys {
    struct field fields[40];
    size_t count;
};

static void keys_of(const struct record *record, const void *message, struct keys *out_keys)
{
    out_keys->count = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        bool is_inline = field->type == FIELD_INLINE;
        size_t count = !is_inline ? 1 : field_applies(field, message) ? field->record->count : 0;

        assert_true(out_keys->count + count <= 40);
        for (size_t j = 0; j < count; j++) {
            struct field *key = &out_keys->fields[out_keys->count++];

            *key = is_inline ? field->record->fields[j] : *field;
            key->offset += is_inline ? field->offset : 0;
            assert_true(key->type != FIELD_INLINE && strlen(key->name) < 32);
        }
    }
}

/* The value of one field, as msgpack, instead of its own; NULL: the key is missing. */
struct change {
    const char *name;
    const struct buf *value;
};

/* The message with the change, key by key. */
static void put_changed(const struct record *record, const void *message, struct change change,
                        struct buf *out_bytes)
{
    struct keys keys;

    keys_of(record, message, &keys);
    buf_init(out_bytes, MESSAGE_ROOM);
    buf_append(out_bytes, (uint8_t[]){ 0xde, 0, (uint8_t)(keys.count - (change.value == NULL)) },
               3);
    for (size_t i = 0; i < keys.count; i++) {
        const struct record alone = { .name = "one", .fields = &keys.fields[i], .count = 1 };
        const char *name = keys.fields[i].name;
        struct buf one;

        buf_init(&one, MESSAGE_ROOM);
        assert_int_equal(record_to_msgpack(&alone, message, &one), STATUS_OK);
        if (strcmp(name, change.name) != 0) {
            buf_append(out_bytes, one.data + 1, one.length - 1);
        } else if (change.value != NULL) {
            buf_append(out_bytes, one.data + 1, 1 + strlen(name));
            buf_append(out_bytes, change.value->data, change.value->length);
        }
        buf_done(&one);
    }
    assert_int_equal(buf_status(out_bytes), STATUS_OK);
}

/* Of which message the value of a field is wrong. */
struct wronged {
    enum message_type type;
    int kind;
    const struct field *field;
};

/* `value` (JSON) instead of the field's own. */
static void refuses_value(const struct wronged *wronged, const char *value, enum status status)
{
    const char *name = wronged->field->name;
    union message message;
    struct fault fault = { "" };
    struct buf bytes, packed;
    char place[64];

    buf_init(&packed, MESSAGE_ROOM);
    if (value != NULL)
        pack_json(value, &packed);
    fill_kind(wronged->type, wronged->kind, &message);
    put_changed(message_kinds[wronged->type].record, &message,
                (struct change){ name, value == NULL ? NULL : &packed }, &bytes);
    message_done(&message);
    snprintf(place, sizeof place, "/%s: ", name);
    if (get_message(bytes.data, bytes.length, message_way_of(wronged->type), &message, &fault) !=
            status ||
        strncmp(fault.text, place, strlen(place)) != 0)
        fail_msg("%s %s %.60s: %s", message_names[wronged->type], name, value, fault.text);
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

static void refuses_too_much(const struct wronged *wronged)
{
    const struct field *field = wronged->field;
    char text[64], *large = NULL;

    if (field->type == FIELD_INT && field->max < COUNT_MAX) {
        snprintf(text, sizeof text, "%lld", (long long)field->max + 1);
        refuses_value(wronged, text, STATUS_RANGE);
    } else if (field->type == FIELD_REAL) {
        snprintf(text, sizeof text, "%.17g", nextafter(field->real_max, 1e308));
        refuses_value(wronged, text, STATUS_RANGE);
    } else if (field->type == FIELD_TEXT) {
        large = repeated("\"", "x", field->size, "\"");
        refuses_value(wronged, large, STATUS_RANGE);
    } else if (field->type == FIELD_LIST) {
        large = repeated("[", "1,", field->size, "1]");
        refuses_value(wronged, large, STATUS_TOO_LARGE);
    }
    free(large);
}

static void refuses_too_little(const struct wronged *wronged)
{
    const struct field *field = wronged->field;
    char text[64];

    if (field->type == FIELD_INT) {
        snprintf(text, sizeof text, "%lld", (long long)field->min - 1);
        refuses_value(wronged, text, STATUS_RANGE);
    } else if (field->type == FIELD_REAL) {
        snprintf(text, sizeof text, "%.17g", nextafter(field->real_min, -1e308));
        refuses_value(wronged, text, STATUS_RANGE);
    } else if (field->type == FIELD_ENUM) {
        refuses_value(wronged, "\"\"", STATUS_RANGE);
        refuses_value(wronged, "\"sonde\"", STATUS_RANGE);
    }
}

static void has_its_limits(const struct wronged *wronged)
{
    const struct field *field = wronged->field;

    refuses_value(wronged, NULL, STATUS_INVALID);
    if ((field->flags & FIELD_NULLABLE) == 0)
        refuses_value(wronged, "null", STATUS_INVALID);
    if (field->type != FIELD_BOOL)
        refuses_value(wronged, "true", STATUS_INVALID);
    if (field->type != FIELD_LIST)
        refuses_value(wronged, "[1]", STATUS_INVALID);
    if (field->type != FIELD_INT && field->type != FIELD_REAL)
        refuses_value(wronged, "7", STATUS_INVALID);
    if (field->type != FIELD_TEXT && field->type != FIELD_ENUM)
        refuses_value(wronged, "\"x\"", STATUS_INVALID);
    refuses_too_much(wronged);
    refuses_too_little(wronged);
}

/* Every field of every message: absent, of another type, beyond each end of its range. */
static void each_field_has_its_limits(void **state)
{
    (void)state;
    for (int i = 0; i < MESSAGE_COUNT * WORK_KIND_COUNT; i++) {
        struct wronged wronged = { .type = (enum message_type)(i / WORK_KIND_COUNT),
                                   .kind = i % WORK_KIND_COUNT };
        union message message;
        struct keys keys;

        fill_kind(wronged.type, wronged.kind, &message);
        keys_of(message_kinds[wronged.type].record, &message, &keys);
        message_done(&message);
        for (size_t j = 0; j < keys.count; j++) {
            wronged.field = &keys.fields[j];
            has_its_limits(&wronged);
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

        buf_init(&value, MESSAGE_ROOM);
        buf_append(&value, head, sizeof head);
        buf_append(&value, data, wrong[i].length);
        fill_message(&filler, wrong[i].type, &message);
        put_changed(record, &message, (struct change){ wrong[i].name, &value }, &bytes);
        message_done(&message);
        refuses_message(&bytes, message_way_of(wrong[i].type), STATUS_RANGE, wrong[i].expected);
        buf_done(&value);
        buf_done(&bytes);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_has_its_limits),
        cmocka_unit_test(bytes_have_their_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
