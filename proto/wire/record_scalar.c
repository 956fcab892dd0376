/* Owns how one scalar becomes a field's value, and the words of every refusal. Knows no lists and
 * no objects. */
#include "proto/wire/record_scalar.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"

enum { DESCRIPTION_SIZE = 96, SHOWN_BYTES = 40, ALLOWED_SIZE = 320 };

const char *value_kind_name(enum value_kind kind)
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
    const char *kind = value_kind_name(value->kind);

    if (value->kind == VALUE_INT)
        snprintf(out_text, DESCRIPTION_SIZE, "%s %lld", kind, (long long)value->integer);
    else if (value->kind == VALUE_REAL)
        snprintf(out_text, DESCRIPTION_SIZE, "%s %.12g", kind, value->real);
    else if (value->kind == VALUE_TEXT)
        snprintf(out_text, DESCRIPTION_SIZE, "%s \"%.*s\"", kind,
                 (int)(value->length < SHOWN_BYTES ? value->length : SHOWN_BYTES), value->bytes);
    else if (value->kind == VALUE_BYTES)
        snprintf(out_text, DESCRIPTION_SIZE, "%zu %s", value->length, kind);
    else
        snprintf(out_text, DESCRIPTION_SIZE, "%s", kind);
}

enum status reader_fault(struct reader *reader, const struct value *value, enum status status,
                         const char *format, ...)
{
    char where[VALUE_WHERE_SIZE], what[FAULT_TEXT_SIZE];
    va_list arguments;

    if (reader->fault == NULL)
        return status;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (reader->form->where == NULL)
        text_copy(where, sizeof where, place_text(&reader->place));
    else
        reader->form->where(value->node, &reader->place, where);
    return fault_set(reader->fault, status, "%s: %s", where, what);
}

static enum status refuse_as(struct reader *reader, enum status status, const struct value *value,
                             const char *allowed)
{
    char text[DESCRIPTION_SIZE];

    describe(value, text);
    return reader_fault(reader, value, status, "%s is not allowed: %s", text, allowed);
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

enum status reader_refuse(struct reader *reader, const struct field *field, enum field_type type,
                          const struct value *value)
{
    char allowed[ALLOWED_SIZE];
    size_t used;

    field_allowed_as(field, type, allowed, sizeof allowed);
    used = strlen(allowed);
    snprintf(allowed + used, sizeof allowed - used, "%s",
             (field->flags & FIELD_NULLABLE) != 0 ? " or null" : "");
    return refuse_as(reader, is_of_type(type, value->kind) ? STATUS_RANGE : STATUS_INVALID, value,
                     allowed);
}

bool value_is_null(const struct field *field, const struct value *value)
{
    return value->kind == VALUE_NULL && (field->flags & FIELD_NULLABLE) != 0;
}

bool value_number(const struct value *value, double *out_number)
{
    *out_number = value->kind == VALUE_INT ? (double)value->integer : value->real;
    return value->kind == VALUE_INT || value->kind == VALUE_REAL;
}

static enum status read_bool(struct reader *reader, const struct field *field,
                             const struct value *value, bool *out_value)
{
    if (value->kind != VALUE_BOOL)
        return reader_refuse(reader, field, FIELD_BOOL, value);
    *out_value = value->truth;
    return STATUS_OK;
}

static enum status read_int(struct reader *reader, const struct field *field,
                            const struct value *value, int64_t *out_value)
{
    if (value_is_null(field, value)) {
        *out_value = NONE_INT;
        return STATUS_OK;
    }
    if (value->kind != VALUE_INT || value->integer < field->min || value->integer > field->max)
        return reader_refuse(reader, field, FIELD_INT, value);
    *out_value = value->integer;
    return STATUS_OK;
}

static enum status read_real(struct reader *reader, const struct field *field,
                             const struct value *value, double *out_value)
{
    double number;

    if (value_is_null(field, value)) {
        *out_value = (double)NAN;
        return STATUS_OK;
    }
    if (!value_number(value, &number) || number < field->real_min || number > field->real_max)
        return reader_refuse(reader, field, FIELD_REAL, value);
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
    if (value_is_null(field, value)) {
        *out_text = '\0';
        return STATUS_OK;
    }
    if (value->kind != VALUE_TEXT || value->length >= field->size)
        return reader_refuse(reader, field, FIELD_TEXT, value);
    keep_text(value, out_text);
    return STATUS_OK;
}

static enum status read_word(struct reader *reader, const struct field *field,
                             const struct value *value, char **word)
{
    if (value->kind != VALUE_TEXT || value->length > LIMIT_COMMAND_WORD_BYTES)
        return reader_refuse(reader, field, FIELD_WORD, value);
    *word = memory_new(value->length + 1, 1);
    keep_text(value, *word);
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
    return reader_refuse(reader, field, FIELD_ENUM, value);
}

static enum status read_bytes(struct reader *reader, const struct field *field,
                              const struct value *value, struct bytes *bytes)
{
    if (value->kind != VALUE_BYTES || value->length < (size_t)field->min ||
        value->length > field->size)
        return reader_refuse(reader, field, FIELD_BYTES, value);
    bytes_set(bytes, value->bytes, value->length);
    return STATUS_OK;
}

enum status read_scalar(struct reader *reader, const struct field *field, enum field_type type,
                        const struct value *value, void *at)
{
    switch (type) {
    case FIELD_BOOL:
        return read_bool(reader, field, value, at);
    case FIELD_INT:
        return read_int(reader, field, value, at);
    case FIELD_REAL:
        return read_real(reader, field, value, at);
    case FIELD_TEXT:
        return read_text(reader, field, value, at);
    case FIELD_ENUM:
        return read_enum(reader, field, value, at);
    case FIELD_WORD:
        return read_word(reader, field, value, at);
    case FIELD_BYTES:
        return read_bytes(reader, field, value, at);
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        break;
    }
    assert(false && "no such scalar");
    return STATUS_INVALID;
}

/* The one integer that can be written and we cannot say is NONE_INT; `min` is above it. */
enum status read_count_or_null(struct reader *reader, int64_t min, const struct value *value,
                               int64_t *out_value)
{
    char allowed[ALLOWED_SIZE];

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

enum status read_map_text(struct reader *reader, const struct value *value, char *out_text,
                          size_t size)
{
    char allowed[ALLOWED_SIZE];

    if (value->kind == VALUE_TEXT && value->length < size) {
        keep_text(value, out_text);
        return STATUS_OK;
    }
    snprintf(allowed, sizeof allowed, "UTF-8 text of at most %zu bytes", size - 1);
    return refuse_as(reader, value->kind == VALUE_TEXT ? STATUS_RANGE : STATUS_INVALID, value,
                     allowed);
}
