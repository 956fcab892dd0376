/* Owns the way from a form's tree to a struct: every type, range and key is checked before anything
 * is believed. Knows neither JSON nor msgpack nor YAML. */
#include "proto/wire/record_read.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/limits.h"
#include "proto/wire/place.h"

enum { DESCRIPTION_SIZE = 96, SHOWN_BYTES = 40 };

struct reader {
    const struct value_form *form;
    struct place place;
    struct fault *fault;
};

static enum status read_record(struct reader *reader, const struct record *record,
                               struct value *value, void *object);

static const char *kind_name(enum value_kind kind)
{
    switch (kind) {
    case VALUE_OBJECT:
        return "an object";
    case VALUE_LIST:
        return "a list";
    case VALUE_TEXT:
        return "text";
    case VALUE_BYTES:
        return "bytes";
    case VALUE_INT:
        return "an integer";
    case VALUE_REAL:
        return "a number with a fraction";
    case VALUE_BOOL:
        return "true or false";
    case VALUE_NULL:
        return "null";
    }
    return "something else";
}

/* The value for an error text: "an integer -5", "null". */
static void describe(const struct value *value, char out_text[DESCRIPTION_SIZE])
{
    const char *kind = kind_name(value->kind);

    if (value->kind == VALUE_INT)
        snprintf(out_text, DESCRIPTION_SIZE, "%s %lld", kind, (long long)value->integer);
    else if (value->kind == VALUE_REAL)
        snprintf(out_text, DESCRIPTION_SIZE, "%s %.12g", kind, value->real);
    else if (value->kind == VALUE_TEXT)
        snprintf(out_text, DESCRIPTION_SIZE, "%s \"%.*s\"", kind,
                 (int)(value->length < SHOWN_BYTES ? value->length : SHOWN_BYTES), value->bytes);
    else
        snprintf(out_text, DESCRIPTION_SIZE, "%s", kind);
}

static bool is_of_type(enum field_type type, enum value_kind kind)
{
    if (type == FIELD_INT)
        return kind == VALUE_INT;
    if (type == FIELD_REAL)
        return kind == VALUE_INT || kind == VALUE_REAL;
    if (type == FIELD_BYTES)
        return kind == VALUE_BYTES;
    return (type == FIELD_TEXT || type == FIELD_ENUM || type == FIELD_WORD) && kind == VALUE_TEXT;
}

static enum status refuse_as(struct reader *reader, enum status status, const struct value *value,
                             const char *allowed)
{
    char text[DESCRIPTION_SIZE];

    describe(value, text);
    return fault_set(reader->fault, status, "%s: %s is not allowed: %s", place_text(&reader->place),
                     text, allowed);
}

static enum status refuse(struct reader *reader, const struct field *field, enum field_type type,
                          const struct value *value)
{
    char allowed[320];
    size_t used;

    field_allowed_as(field, type, allowed, sizeof allowed);
    used = strlen(allowed);
    snprintf(allowed + used, sizeof allowed - used, "%s",
             (field->flags & FIELD_NULLABLE) != 0 ? " or null" : "");
    return refuse_as(reader, is_of_type(type, value->kind) ? STATUS_RANGE : STATUS_INVALID, value,
                     allowed);
}

static bool is_null(const struct field *field, const struct value *value)
{
    return value->kind == VALUE_NULL && (field->flags & FIELD_NULLABLE) != 0;
}

static enum status read_int(struct reader *reader, const struct field *field,
                            const struct value *value, int64_t *out_value)
{
    if (is_null(field, value)) {
        *out_value = NONE_INT;
        return STATUS_OK;
    }
    if (value->kind != VALUE_INT || value->integer < field->min || value->integer > field->max)
        return refuse(reader, field, FIELD_INT, value);
    *out_value = value->integer;
    return STATUS_OK;
}

static bool is_number(const struct value *value, double *out_number)
{
    *out_number = value->kind == VALUE_INT ? (double)value->integer : value->real;
    return value->kind == VALUE_INT || value->kind == VALUE_REAL;
}

static enum status read_real(struct reader *reader, const struct field *field,
                             const struct value *value, double *out_value)
{
    double number;

    if (is_null(field, value)) {
        *out_value = (double)NAN;
        return STATUS_OK;
    }
    if (!is_number(value, &number) || number < field->real_min || number > field->real_max)
        return refuse(reader, field, FIELD_REAL, value);
    *out_value = number;
    return STATUS_OK;
}

static void keep_text(const struct value *value, char *out_text)
{
    memcpy(out_text, value->bytes, value->length);
    out_text[value->length] = '\0';
}

static enum status read_text(struct reader *reader, const struct field *field,
                             const struct value *value, char *out_text)
{
    if (is_null(field, value)) {
        *out_text = '\0';
        return STATUS_OK;
    }
    if (value->kind != VALUE_TEXT || value->length >= field->size)
        return refuse(reader, field, FIELD_TEXT, value);
    keep_text(value, out_text);
    return STATUS_OK;
}

static enum status read_enum(struct reader *reader, const struct field *field,
                             const struct value *value, int *out_value)
{
    for (size_t i = 0; value->kind == VALUE_TEXT && i < field->name_count; i++) {
        if (strncmp(field->names[i], value->bytes, value->length) == 0 &&
            field->names[i][value->length] == '\0') {
            *out_value = (int)i;
            return STATUS_OK;
        }
    }
    return refuse(reader, field, FIELD_ENUM, value);
}

static enum status read_bytes(struct reader *reader, const struct field *field,
                              const struct value *value, struct bytes *bytes)
{
    if (value->kind != VALUE_BYTES || value->length > field->size)
        return refuse(reader, field, FIELD_BYTES, value);
    bytes_set(bytes, value->bytes, value->length);
    return STATUS_OK;
}

/* The one integer that can be written and we cannot say is NONE_INT; `min` is above it. */
static enum status read_count_or_null(struct reader *reader, int64_t min, const struct value *value,
                                      int64_t *out_value)
{
    char allowed[64];

    if (value->kind == VALUE_NULL) {
        *out_value = NONE_INT;
        return STATUS_OK;
    }
    if (value->kind == VALUE_INT && value->integer >= min) {
        *out_value = value->integer;
        return STATUS_OK;
    }
    snprintf(allowed, sizeof allowed, "an integer from %lld up or null", (long long)min);
    return refuse_as(reader, value->kind == VALUE_INT ? STATUS_RANGE : STATUS_INVALID, value,
                     allowed);
}

static enum status read_named(struct reader *reader, const struct field *field, struct value *value,
                              int64_t *values)
{
    if (value->kind != VALUE_OBJECT)
        return refuse(reader, field, FIELD_NAMED, value);
    for (size_t i = 0; i < field->name_count; i++) {
        void *node = reader->form->find(value, field->names[i]);
        size_t back = place_enter(&reader->place, field->names[i]);
        struct value number = { 0 };
        enum status status = STATUS_OK;

        values[i] = NONE_INT;
        if (node != NULL) {
            reader->form->look(node, FIELD_INT, &number);
            status = read_count_or_null(reader, field->min, &number, &values[i]);
        }
        place_leave(&reader->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_map_value(struct reader *reader, const struct field *field, const char *key,
                                  const struct value *value, struct list *map)
{
    char text[MAP_TEXT_SIZE], allowed[64];
    int64_t number = NONE_INT;
    enum status status;

    if (field->type == FIELD_MAP_INT) {
        status = read_count_or_null(reader, NONE_INT + 1, value, &number);
        if (status == STATUS_OK)
            map_add_int(map, key, number);
        return status;
    }
    if (value->kind != VALUE_TEXT || value->length >= MAP_TEXT_SIZE) {
        snprintf(allowed, sizeof allowed, "UTF-8 text of at most %d bytes", MAP_TEXT_SIZE - 1);
        return refuse_as(reader, value->kind == VALUE_TEXT ? STATUS_RANGE : STATUS_INVALID, value,
                         allowed);
    }
    keep_text(value, text);
    map_add_text(map, key, text);
    return STATUS_OK;
}

static enum status read_map_entry(struct reader *reader, const struct field *field,
                                  const struct value_entry *entry, struct list *map)
{
    char key[PLACE_TEXT_SIZE];
    size_t kept = entry->length < sizeof key ? entry->length : sizeof key - 1;
    size_t back;
    struct value value = { 0 };
    enum status status;

    memcpy(key, entry->key, kept);
    key[kept] = '\0';
    back = place_enter(&reader->place, key);
    if (entry->length >= MAP_KEY_SIZE) {
        status = fault_set(reader->fault, STATUS_TOO_LARGE, "%s: key longer than %d bytes",
                           place_text(&reader->place), MAP_KEY_SIZE - 1);
    } else {
        reader->form->look(entry->node, field->type == FIELD_MAP_INT ? FIELD_INT : FIELD_TEXT,
                           &value);
        status = read_map_value(reader, field, key, &value, map);
    }
    place_leave(&reader->place, back);
    return status;
}

static enum status refuse_count(struct reader *reader, size_t count, size_t most)
{
    return fault_set(reader->fault, STATUS_TOO_LARGE, "%s: %zu entries, at most %zu are allowed",
                     place_text(&reader->place), count, most);
}

static enum status read_map(struct reader *reader, const struct field *field,
                            const struct value *value, struct list *map)
{
    struct value_entry entry = { 0 };

    if (value->kind != VALUE_OBJECT)
        return refuse(reader, field, field->type, value);
    if (value->length > LIMIT_MAP_ENTRIES)
        return refuse_count(reader, value->length, LIMIT_MAP_ENTRIES);
    while (reader->form->next(value, &entry)) {
        enum status status = read_map_entry(reader, field, &entry, map);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Both elements of a pair or point; false when there are not two. */
static bool look_at_two(struct reader *reader, enum field_type type, const struct value *value,
                        struct value out_two[2])
{
    if (value->kind != VALUE_LIST || value->length != 2)
        return false;
    for (size_t i = 0; i < 2; i++)
        reader->form->look(reader->form->element(value, i), type, &out_two[i]);
    return true;
}

static enum status read_pair(struct reader *reader, const struct field *field,
                             const struct value *value, int64_t *pair)
{
    struct value two[2] = { { 0 } };

    if (!look_at_two(reader, FIELD_INT, value, two) || two[0].kind != VALUE_INT ||
        two[1].kind != VALUE_INT || two[0].integer < field->min || two[1].integer < field->min)
        return refuse(reader, field, FIELD_PAIR, value);
    pair[0] = two[0].integer;
    pair[1] = two[1].integer;
    return STATUS_OK;
}

static enum status read_point(struct reader *reader, const struct field *field,
                              const struct value *value, double *point)
{
    struct value two[2] = { { 0 } };

    if (!look_at_two(reader, FIELD_REAL, value, two) || !is_number(&two[0], &point[0]) ||
        !is_number(&two[1], &point[1]))
        return refuse(reader, field, FIELD_POINT, value);
    return STATUS_OK;
}

static enum status read_word(struct reader *reader, const struct field *field,
                             const struct value *value, char **word)
{
    if (value->kind != VALUE_TEXT || value->length > LIMIT_COMMAND_WORD_BYTES)
        return refuse(reader, field, FIELD_WORD, value);
    *word = malloc(value->length + 1);
    if (*word == NULL)
        abort();
    keep_text(value, *word);
    return STATUS_OK;
}

static enum status read_element(struct reader *reader, const struct field *field,
                                struct value *value, void *at)
{
    switch (field->of) {
    case FIELD_INT:
        return read_int(reader, field, value, at);
    case FIELD_REAL:
        return read_real(reader, field, value, at);
    case FIELD_ENUM:
        return read_enum(reader, field, value, at);
    case FIELD_PAIR:
        return read_pair(reader, field, value, at);
    case FIELD_POINT:
        return read_point(reader, field, value, at);
    case FIELD_WORD:
        return read_word(reader, field, value, at);
    case FIELD_NAMED:
        return read_named(reader, field, value, at);
    case FIELD_RECORD:
        return read_record(reader, field->record, value, at);
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

static enum status read_list(struct reader *reader, const struct field *field,
                             const struct value *value, struct list *list)
{
    if (value->kind != VALUE_LIST)
        return refuse(reader, field, FIELD_LIST, value);
    if (value->length > field->size)
        return refuse_count(reader, value->length, field->size);
    for (size_t i = 0; i < value->length; i++) {
        void *at = list_append(list, field);
        size_t back = place_enter_index(&reader->place, i);
        struct value element = { 0 };
        enum status status;

        if (field->of == FIELD_RECORD)
            record_init(field->record, at);
        reader->form->look(reader->form->element(value, i), field->of, &element);
        status = read_element(reader, field, &element, at);
        place_leave(&reader->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_nullable_record(struct reader *reader, const struct field *field,
                                        struct value *value, void *at)
{
    if (is_null(field, value)) {
        record_set_present(field->record, at, false);
        return STATUS_OK;
    }
    return read_record(reader, field->record, value, at);
}

static enum status read_value(struct reader *reader, const struct field *field, struct value *value,
                              void *at)
{
    switch (field->type) {
    case FIELD_BOOL:
        if (value->kind != VALUE_BOOL)
            return refuse(reader, field, FIELD_BOOL, value);
        *(bool *)at = value->truth;
        return STATUS_OK;
    case FIELD_INT:
        return read_int(reader, field, value, at);
    case FIELD_REAL:
        return read_real(reader, field, value, at);
    case FIELD_TEXT:
        return read_text(reader, field, value, at);
    case FIELD_ENUM:
        return read_enum(reader, field, value, at);
    case FIELD_RECORD:
        return read_nullable_record(reader, field, value, at);
    case FIELD_NAMED:
        return read_named(reader, field, value, at);
    case FIELD_LIST:
        return read_list(reader, field, value, at);
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return read_map(reader, field, value, at);
    case FIELD_BYTES:
        return read_bytes(reader, field, value, at);
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
        break;
    }
    assert(false && "no such field");
    return STATUS_INVALID;
}

static enum status read_field(struct reader *reader, const struct field *field,
                              struct value *parent, void *object)
{
    void *at = (char *)object + field->offset;
    struct value value = { 0 };
    void *node;
    size_t back;
    enum status status;

    if (!field_applies(field, object))
        return STATUS_OK;
    if (field->type == FIELD_INLINE)
        return read_record(reader, field->record, parent, at);
    node = reader->form->find(parent, field->name);
    if (node == NULL && (field->flags & FIELD_OPTIONAL) != 0)
        return STATUS_OK;
    back = place_enter(&reader->place, field->name);
    if (node == NULL) {
        status =
            fault_set(reader->fault, STATUS_INVALID, "%s: missing", place_text(&reader->place));
    } else {
        reader->form->look(node, field->type, &value);
        status = read_value(reader, field, &value, at);
    }
    place_leave(&reader->place, back);
    return status;
}

static enum status read_record(struct reader *reader, const struct record *record,
                               struct value *value, void *object)
{
    if (value->kind != VALUE_OBJECT)
        return fault_set(reader->fault, STATUS_INVALID, "%s: %s is not allowed: an object (%s)",
                         place_text(&reader->place), kind_name(value->kind), record->name);
    for (size_t i = 0; i < record->count; i++) {
        enum status status = read_field(reader, &record->fields[i], value, object);

        if (status != STATUS_OK)
            return status;
    }
    if (record->present != 0)
        record_set_present(record, object, true);
    return STATUS_OK;
}

enum status value_read(const struct value_form *form, const struct record *record, void *node,
                       void *object, struct fault *fault)
{
    struct reader reader = { .form = form, .fault = fault };
    struct value value = { 0 };

    form->look(node, FIELD_RECORD, &value);
    return read_record(&reader, record, &value, object);
}
