/* Owns the way from records to YAML that a person reads: every key with its help above it. libyaml
 * writes no comments, so this is printed by hand; record_from_yaml.c reads it back. */
#include "proto/wire/record_yaml.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a double holds for sure, and room for the smallest written out. */
enum { INDENT = 2, REAL_DIGITS = 15, REAL_SIZE = 400 };

static const char plain_in_keys[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";

struct writer {
    struct buf *out;
    int indent;
};

static void put_object(struct writer *writer, const struct record *record, const void *object);

static void new_line(struct writer *writer)
{
    buf_printf(writer->out, "\n%*s", writer->indent, "");
}

/* The code point at `text`, which is UTF-8, and how long it is. */
static unsigned code_point(const char *text, size_t *out_length)
{
    unsigned first = (unsigned char)*text;
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    unsigned code = length == 1 ? first : first & (0x7fU >> length);

    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    *out_length = length;
    return code;
}

/* What YAML allows as it is and what breaks no line (YAML 1.1 sections 5.1 and 5.4). */
static bool is_printable(unsigned code)
{
    return code >= 0x20 && (code < 0x7f || code > 0x9f) && code != 0x2028 && code != 0x2029 &&
           code != 0xfeff && code != 0xfffe && code != 0xffff;
}

static void put_text(struct writer *writer, const char *text)
{
    size_t length;

    buf_text(writer->out, "\"");
    for (; *text != '\0'; text += length) {
        unsigned code = code_point(text, &length);

        if (code == '"' || code == '\\')
            buf_printf(writer->out, "\\%c", (int)code);
        else if (is_printable(code))
            buf_append(writer->out, text, length);
        else
            buf_printf(writer->out, "\\u%04x", code);
    }
    buf_text(writer->out, "\"");
}

static void put_int(struct writer *writer, int64_t value)
{
    if (value == NONE_INT)
        buf_text(writer->out, "null");
    else
        buf_printf(writer->out, "%lld", (long long)value);
}

/* Digits with '.' between them in every locale, and no zeros at the end. */
static void tidy_real(char *text)
{
    char *to = text, *point = NULL;

    for (const char *from = text; *from != '\0'; from++) {
        if ((*from >= '0' && *from <= '9') || *from == '-') {
            *to++ = *from;
        } else if (point == NULL) { /* the first byte of the locale's point */
            point = to;
            *to++ = '.';
        }
    }
    while (point != NULL && to > point && (to[-1] == '0' || to[-1] == '.'))
        to--;
    *to = '\0';
}

/* Whole numbers without a point; others without an exponent, which nobody can read back. */
static void put_real(struct writer *writer, double value)
{
    char text[REAL_SIZE];
    int places;

    if (isnan(value)) {
        buf_text(writer->out, "null");
    } else if (value == floor(value) && fabs(value) < 9e18) {
        put_int(writer, (int64_t)value);
    } else {
        places = REAL_DIGITS - 1 - (int)floor(log10(fabs(value)));
        snprintf(text, sizeof text, "%.*f", places > 0 ? places : 0, value);
        tidy_real(text);
        buf_text(writer->out, text);
    }
}

static void put_named(struct writer *writer, const struct field *field, const int64_t *values)
{
    writer->indent += INDENT;
    for (size_t i = 0; i < field->name_count; i++) {
        new_line(writer);
        put_text(writer, field->names[i]);
        buf_text(writer->out, ": ");
        put_int(writer, values[i]);
    }
    writer->indent -= INDENT;
}

static void put_map(struct writer *writer, const struct field *field, const struct list *map)
{
    const struct map_item *items = map->items;

    if (map->count == 0)
        buf_text(writer->out, " {}");
    writer->indent += INDENT;
    for (size_t i = 0; i < map->count; i++) {
        new_line(writer);
        put_text(writer, items[i].key);
        buf_text(writer->out, ": ");
        if (field->type == FIELD_MAP_INT)
            put_int(writer, items[i].number);
        else
            put_text(writer, items[i].text);
    }
    writer->indent -= INDENT;
}

static void put_scalar(struct writer *writer, const struct field *field, enum field_type type,
                       const void *at)
{
    switch (type) {
    case FIELD_BOOL:
        buf_text(writer->out, *(const bool *)at ? "true" : "false");
        return;
    case FIELD_INT:
        put_int(writer, *(const int64_t *)at);
        return;
    case FIELD_REAL:
        put_real(writer, *(const double *)at);
        return;
    case FIELD_TEXT:
        if (*(const char *)at == '\0' && (field->flags & FIELD_NULLABLE) != 0)
            buf_text(writer->out, "null");
        else
            put_text(writer, at);
        return;
    case FIELD_ENUM:
        put_text(writer, field->names[*(const int *)at]);
        return;
    case FIELD_WORD:
        put_text(writer, *(char *const *)at);
        return;
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        break;
    }
    assert(false && "no such scalar");
}

static void put_two(struct writer *writer, const struct field *field, const void *at)
{
    const int64_t *pair = at;
    const double *point = at;

    for (int i = 0; i < 2; i++) {
        buf_text(writer->out, i == 0 ? "[" : ", ");
        if (field->of == FIELD_PAIR)
            put_int(writer, pair[i]);
        else
            put_real(writer, point[i]);
    }
    buf_text(writer->out, "]");
}

static void put_element(struct writer *writer, const struct field *field, const void *at)
{
    buf_text(writer->out, "-");
    if (field->of == FIELD_RECORD) {
        put_object(writer, field->record, at);
    } else if (field->of == FIELD_NAMED) {
        put_named(writer, field, at);
    } else {
        buf_text(writer->out, " ");
        if (field->of == FIELD_PAIR || field->of == FIELD_POINT)
            put_two(writer, field, at);
        else
            put_scalar(writer, field, field->of, at);
    }
}

static void put_list(struct writer *writer, const struct field *field, const struct list *list)
{
    size_t size = field_element_size(field);

    if (list->count == 0)
        buf_text(writer->out, " []");
    writer->indent += INDENT;
    for (size_t i = 0; i < list->count; i++) {
        new_line(writer);
        put_element(writer, field, (const char *)list->items + i * size);
    }
    writer->indent -= INDENT;
}

static void put_value(struct writer *writer, const struct field *field, const void *at)
{
    if (field->type == FIELD_RECORD) {
        put_object(writer, field->record, at);
    } else if (field->type == FIELD_NAMED) {
        put_named(writer, field, at);
    } else if (field->type == FIELD_LIST) {
        put_list(writer, field, at);
    } else if (field->type == FIELD_MAP_INT || field->type == FIELD_MAP_TEXT) {
        put_map(writer, field, at);
    } else {
        buf_text(writer->out, " ");
        put_scalar(writer, field, field->type, at);
    }
}

/* What it is, and what may stand there where that is not plain to see. */
static void put_help(struct writer *writer, const struct field *field)
{
    char allowed[256];

    if (field->help == NULL || *field->help == '\0')
        return;
    new_line(writer);
    buf_printf(writer->out, "# %s", field->help);
    if (field->type == FIELD_INT || field->type == FIELD_REAL || field->type == FIELD_ENUM) {
        field_allowed(field, allowed, sizeof allowed);
        buf_printf(writer->out, " (%s)", allowed);
    }
}

static void put_fields(struct writer *writer, const struct record *record, const void *object)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        const void *at = (const char *)object + field->offset;

        if (!field_applies(field, object))
            continue;
        if (field->type == FIELD_INLINE) {
            put_fields(writer, field->record, at);
            continue;
        }
        if (writer->indent == 0)
            buf_text(writer->out, "\n");
        put_help(writer, field);
        new_line(writer);
        if (field->name[strspn(field->name, plain_in_keys)] == '\0')
            buf_text(writer->out, field->name);
        else
            put_text(writer, field->name);
        buf_text(writer->out, ":");
        put_value(writer, field, at);
    }
}

static void put_object(struct writer *writer, const struct record *record, const void *object)
{
    if (!record_is_present(record, object)) {
        buf_text(writer->out, " null");
        return;
    }
    writer->indent += INDENT;
    put_fields(writer, record, object);
    writer->indent -= INDENT;
}

enum status record_to_yaml(const struct record *record, const void *object, struct buf *out_text)
{
    struct writer writer = { .out = out_text };
    enum status checked = record_check(record, object, NULL);

    assert(checked == STATUS_OK);
    buf_printf(out_text, "---");
    put_fields(&writer, record, object);
    buf_text(out_text, "\n");
    return buf_status(out_text);
}
