/* Owns the way from JSON to records: every type, range and key is checked before anything is
 * believed. */
#include "proto/wire/record_json.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/json_place.h"
#include "proto/wire/limits.h"
#include "proto/wire/place.h"

struct reader {
    struct place place;
    struct fault *fault;
};

static enum status read_record(struct reader *reader, const struct record *record, json_t *json,
                               void *object);

static const char *type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

/* The value for an error text: "an integer -5", "null". */
static void describe(const json_t *json, char out_text[96])
{
    const char *type = type_name(json);

    if (json_is_integer(json))
        snprintf(out_text, 96, "%s %lld", type, (long long)json_integer_value(json));
    else if (json_is_real(json))
        snprintf(out_text, 96, "%s %.12g", type, json_real_value(json));
    else if (json_is_string(json))
        snprintf(out_text, 96, "%s \"%.40s\"", type, json_string_value(json));
    else
        snprintf(out_text, 96, "%s", type);
}

static bool is_of_type(enum field_type type, const json_t *json)
{
    if (type == FIELD_INT)
        return json_is_integer(json);
    if (type == FIELD_REAL)
        return json_is_number(json);
    return (type == FIELD_TEXT || type == FIELD_ENUM || type == FIELD_WORD) && json_is_string(json);
}

static enum status refuse(struct reader *reader, const struct field *field, enum field_type type,
                          const json_t *json)
{
    char allowed[320];
    char value[96];

    describe(json, value);
    field_allowed_as(field, type, allowed, sizeof allowed);
    return fault_set(reader->fault, is_of_type(type, json) ? STATUS_RANGE : STATUS_INVALID,
                     "%s: %s is not allowed: %s%s", place_text(&reader->place), value, allowed,
                     (field->flags & FIELD_NULLABLE) != 0 ? " or null" : "");
}

static enum status read_int(struct reader *reader, const struct field *field, json_t *json,
                            int64_t *out_value)
{
    if (json_is_null(json) && (field->flags & FIELD_NULLABLE) != 0) {
        *out_value = NONE_INT;
        return STATUS_OK;
    }
    if (!json_is_integer(json) || json_integer_value(json) < field->min ||
        json_integer_value(json) > field->max)
        return refuse(reader, field, FIELD_INT, json);
    *out_value = json_integer_value(json);
    return STATUS_OK;
}

static enum status read_real(struct reader *reader, const struct field *field, json_t *json,
                             double *out_value)
{
    double value = json_number_value(json);

    if (json_is_null(json) && (field->flags & FIELD_NULLABLE) != 0) {
        *out_value = (double)NAN;
        return STATUS_OK;
    }
    if (!json_is_number(json) || !isfinite(value) || value < field->real_min ||
        value > field->real_max)
        return refuse(reader, field, FIELD_REAL, json);
    *out_value = value;
    return STATUS_OK;
}

static enum status read_text(struct reader *reader, const struct field *field, json_t *json,
                             char *out_text)
{
    size_t length;

    if (json_is_null(json) && (field->flags & FIELD_NULLABLE) != 0) {
        *out_text = '\0';
        return STATUS_OK;
    }
    if (!json_is_string(json))
        return refuse(reader, field, FIELD_TEXT, json);
    length = json_string_length(json);
    if (length >= field->size)
        return refuse(reader, field, FIELD_TEXT, json);
    memcpy(out_text, json_string_value(json), length + 1);
    return STATUS_OK;
}

static enum status read_enum(struct reader *reader, const struct field *field, json_t *json,
                             int *out_value)
{
    for (size_t i = 0; json_is_string(json) && i < field->name_count; i++) {
        if (strcmp(json_string_value(json), field->names[i]) == 0) {
            *out_value = (int)i;
            return STATUS_OK;
        }
    }
    return refuse(reader, field, FIELD_ENUM, json);
}

/* The one integer that JSON can say and we cannot is NONE_INT; `min` is above it. */
static enum status read_count_or_null(struct reader *reader, int64_t min, const json_t *json,
                                      int64_t *out_value)
{
    char value[96];

    if (json_is_null(json)) {
        *out_value = NONE_INT;
        return STATUS_OK;
    }
    if (json_is_integer(json) && json_integer_value(json) >= min) {
        *out_value = json_integer_value(json);
        return STATUS_OK;
    }
    describe(json, value);
    return fault_set(reader->fault, json_is_integer(json) ? STATUS_RANGE : STATUS_INVALID,
                     "%s: %s is not allowed: an integer from %lld up or null",
                     place_text(&reader->place), value, (long long)min);
}

static enum status read_named(struct reader *reader, const struct field *field, json_t *json,
                              int64_t *values)
{
    if (!json_is_object(json))
        return refuse(reader, field, FIELD_NAMED, json);
    for (size_t i = 0; i < field->name_count; i++) {
        json_t *value = json_object_get(json, field->names[i]);
        size_t back = place_enter(&reader->place, field->names[i]);
        enum status status = STATUS_OK;

        values[i] = NONE_INT;
        if (value != NULL)
            status = read_count_or_null(reader, field->min, value, &values[i]);
        place_leave(&reader->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_map_entry(struct reader *reader, const struct field *field, const char *key,
                                  json_t *json, struct list *map)
{
    int64_t number = NONE_INT;
    enum status status = STATUS_OK;
    char value[96];

    if (strlen(key) >= MAP_KEY_SIZE)
        return fault_set(reader->fault, STATUS_TOO_LARGE, "%s: key longer than %d bytes",
                         place_text(&reader->place), MAP_KEY_SIZE - 1);
    if (field->type == FIELD_MAP_INT) {
        status = read_count_or_null(reader, NONE_INT + 1, json, &number);
        if (status == STATUS_OK)
            map_add_int(map, key, number);
        return status;
    }
    if (!json_is_string(json) || json_string_length(json) >= MAP_TEXT_SIZE) {
        describe(json, value);
        return fault_set(reader->fault, json_is_string(json) ? STATUS_RANGE : STATUS_INVALID,
                         "%s: %s is not allowed: UTF-8 text of at most %d bytes",
                         place_text(&reader->place), value, MAP_TEXT_SIZE - 1);
    }
    map_add_text(map, key, json_string_value(json));
    return STATUS_OK;
}

static enum status read_map(struct reader *reader, const struct field *field, json_t *json,
                            struct list *map)
{
    const char *key;
    json_t *value;

    if (!json_is_object(json))
        return refuse(reader, field, field->type, json);
    if (json_object_size(json) > LIMIT_MAP_ENTRIES)
        return fault_set(reader->fault, STATUS_TOO_LARGE, "%s: %zu entries, at most %d are allowed",
                         place_text(&reader->place), json_object_size(json), LIMIT_MAP_ENTRIES);
    json_object_foreach(json, key, value)
    {
        size_t back = place_enter(&reader->place, key);
        enum status status = read_map_entry(reader, field, key, value, map);

        place_leave(&reader->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_pair(struct reader *reader, const struct field *field, json_t *json,
                             int64_t *pair)
{
    if (!json_is_array(json) || json_array_size(json) != 2 ||
        !json_is_integer(json_array_get(json, 0)) || !json_is_integer(json_array_get(json, 1)) ||
        json_integer_value(json_array_get(json, 0)) < field->min ||
        json_integer_value(json_array_get(json, 1)) < field->min)
        return refuse(reader, field, FIELD_PAIR, json);
    pair[0] = json_integer_value(json_array_get(json, 0));
    pair[1] = json_integer_value(json_array_get(json, 1));
    return STATUS_OK;
}

static enum status read_point(struct reader *reader, const struct field *field, json_t *json,
                              double *point)
{
    if (!json_is_array(json) || json_array_size(json) != 2 ||
        !json_is_number(json_array_get(json, 0)) || !json_is_number(json_array_get(json, 1)))
        return refuse(reader, field, FIELD_POINT, json);
    point[0] = json_number_value(json_array_get(json, 0));
    point[1] = json_number_value(json_array_get(json, 1));
    return STATUS_OK;
}

static enum status read_word(struct reader *reader, const struct field *field, json_t *json,
                             char **word)
{
    if (!json_is_string(json) || json_string_length(json) > LIMIT_COMMAND_WORD_BYTES)
        return refuse(reader, field, FIELD_WORD, json);
    *word = strdup(json_string_value(json));
    if (*word == NULL)
        abort();
    return STATUS_OK;
}

static enum status read_element(struct reader *reader, const struct field *field, json_t *json,
                                void *at)
{
    switch (field->of) {
    case FIELD_INT:
        return read_int(reader, field, json, at);
    case FIELD_REAL:
        return read_real(reader, field, json, at);
    case FIELD_ENUM:
        return read_enum(reader, field, json, at);
    case FIELD_PAIR:
        return read_pair(reader, field, json, at);
    case FIELD_POINT:
        return read_point(reader, field, json, at);
    case FIELD_WORD:
        return read_word(reader, field, json, at);
    case FIELD_NAMED:
        return read_named(reader, field, json, at);
    case FIELD_RECORD:
        return read_record(reader, field->record, json, at);
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_INLINE:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        break;
    }
    assert(false && "no such element");
    return STATUS_INVALID;
}

static enum status read_list(struct reader *reader, const struct field *field, json_t *json,
                             struct list *list)
{
    if (!json_is_array(json))
        return refuse(reader, field, FIELD_LIST, json);
    if (json_array_size(json) > field->size)
        return fault_set(reader->fault, STATUS_TOO_LARGE,
                         "%s: %zu entries, at most %zu are allowed", place_text(&reader->place),
                         json_array_size(json), field->size);
    for (size_t i = 0; i < json_array_size(json); i++) {
        void *at = list_append(list, field);
        size_t back = place_enter_index(&reader->place, i);
        enum status status;

        if (field->of == FIELD_RECORD)
            record_init(field->record, at);
        status = read_element(reader, field, json_array_get(json, i), at);
        place_leave(&reader->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_nullable_record(struct reader *reader, const struct field *field,
                                        json_t *json, void *at)
{
    if (json_is_null(json) && (field->flags & FIELD_NULLABLE) != 0) {
        record_set_present(field->record, at, false);
        return STATUS_OK;
    }
    return read_record(reader, field->record, json, at);
}

static enum status read_value(struct reader *reader, const struct field *field, json_t *json,
                              void *at)
{
    switch (field->type) {
    case FIELD_BOOL:
        if (!json_is_boolean(json))
            return refuse(reader, field, FIELD_BOOL, json);
        *(bool *)at = json_is_true(json);
        return STATUS_OK;
    case FIELD_INT:
        return read_int(reader, field, json, at);
    case FIELD_REAL:
        return read_real(reader, field, json, at);
    case FIELD_TEXT:
        return read_text(reader, field, json, at);
    case FIELD_ENUM:
        return read_enum(reader, field, json, at);
    case FIELD_RECORD:
        return read_nullable_record(reader, field, json, at);
    case FIELD_NAMED:
        return read_named(reader, field, json, at);
    case FIELD_LIST:
        return read_list(reader, field, json, at);
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return read_map(reader, field, json, at);
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_BYTES:
        break;
    }
    assert(false && "no such field");
    return STATUS_INVALID;
}

static enum status read_field(struct reader *reader, const struct field *field, json_t *json,
                              void *object)
{
    void *at = (char *)object + field->offset;
    json_t *value;
    size_t back;
    enum status status;

    if (!field_applies(field, object))
        return STATUS_OK;
    if (field->type == FIELD_INLINE)
        return read_record(reader, field->record, json, at);
    value = json_object_get(json, field->name);
    if (value == NULL && (field->flags & FIELD_OPTIONAL) != 0)
        return STATUS_OK;
    back = place_enter(&reader->place, field->name);
    if (value == NULL)
        status =
            fault_set(reader->fault, STATUS_INVALID, "%s: missing", place_text(&reader->place));
    else
        status = read_value(reader, field, value, at);
    place_leave(&reader->place, back);
    return status;
}

static enum status read_record(struct reader *reader, const struct record *record, json_t *json,
                               void *object)
{
    if (!json_is_object(json))
        return fault_set(reader->fault, STATUS_INVALID, "%s: %s is not allowed: an object (%s)",
                         place_text(&reader->place), type_name(json), record->name);
    for (size_t i = 0; i < record->count; i++) {
        enum status status = read_field(reader, &record->fields[i], json, object);

        if (status != STATUS_OK)
            return status;
    }
    if (record->present != 0)
        record_set_present(record, object, true);
    return STATUS_OK;
}

/* jansson stands behind the token that it refused, but in front of a byte that is no UTF-8 and
 * where it missed something at the end. */
static enum status refuse_text(const char *text, size_t length, const json_error_t *error,
                               struct fault *fault)
{
    enum json_error_code code = json_error_code(error);
    bool in_front = code == json_error_invalid_utf8 || code == json_error_premature_end_of_input;

    return json_fault_at(text, length, (size_t)error->position + in_front, error->text, fault);
}

enum status record_from_json(const struct record *record, const char *text, size_t length,
                             void *out_object, struct fault *fault)
{
    struct reader reader = { .fault = fault };
    json_t *json = NULL;
    json_error_t error;
    enum status status;

    record_init(record, out_object);
    status = json_check_form(text, length, fault);
    if (status != STATUS_OK)
        return status;
    json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        return refuse_text(text, length, &error, fault);
    status = read_record(&reader, record, json, out_object);
    json_decref(json);
    if (status != STATUS_OK)
        record_done(record, out_object);
    return status;
}
