/* Owns the check of a filled struct against its table: ranges, lengths, enums, texts. Knows no
 * text form. */
#include "proto/wire/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/place.h"

struct check {
    struct place place;
    struct fault *fault;
};

static enum status check_record(struct check *check, const struct record *record,
                                const void *object);

static enum status refuse(struct check *check, const struct field *field, enum field_type type,
                          const char *value)
{
    char allowed[320];

    field_allowed_as(field, type, allowed, sizeof allowed);
    return fault_set(check->fault, STATUS_RANGE, "%s: %s is not allowed: %s%s",
                     place_text(&check->place), value, allowed,
                     (field->flags & FIELD_NULLABLE) != 0 ? " or null" : "");
}

static enum status check_int(struct check *check, const struct field *field, int64_t value)
{
    char text[32];

    if (value == NONE_INT && (field->flags & FIELD_NULLABLE) != 0)
        return STATUS_OK;
    if (value >= field->min && value <= field->max)
        return STATUS_OK;
    snprintf(text, sizeof text, "%lld", (long long)value);
    return refuse(check, field, FIELD_INT, value == NONE_INT ? "null" : text);
}

static enum status check_real(struct check *check, const struct field *field, double value)
{
    char text[32];

    if (isnan(value) && (field->flags & FIELD_NULLABLE) != 0)
        return STATUS_OK;
    if (value >= field->real_min && value <= field->real_max)
        return STATUS_OK;
    snprintf(text, sizeof text, "%.12g", value);
    return refuse(check, field, FIELD_REAL, isnan(value) ? "null" : text);
}

static bool is_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    return length < size && utf8_is_valid(text, length);
}

static enum status check_text(struct check *check, const struct field *field, const char *text)
{
    if (is_text(text, field->size))
        return STATUS_OK;
    return refuse(check, field, FIELD_TEXT, "this text");
}

static enum status check_word(struct check *check, const struct field *field, const char *word)
{
    size_t length = word == NULL ? 0 : strnlen(word, LIMIT_COMMAND_WORD_BYTES + 1);

    if (word != NULL && length <= LIMIT_COMMAND_WORD_BYTES && utf8_is_valid(word, length))
        return STATUS_OK;
    return refuse(check, field, FIELD_WORD, word == NULL ? "null" : "this text");
}

static enum status check_pair(struct check *check, const struct field *field, const int64_t *pair)
{
    if (pair[0] >= field->min && pair[1] >= field->min)
        return STATUS_OK;
    return refuse(check, field, FIELD_PAIR, "this pair");
}

static enum status check_named(struct check *check, const struct field *field,
                               const int64_t *values)
{
    for (size_t i = 0; i < field->name_count; i++) {
        if (values[i] == NONE_INT || values[i] >= field->min)
            continue;
        place_enter(&check->place, field->names[i]);
        return fault_set(check->fault, STATUS_RANGE,
                         "%s: %lld is not allowed: an integer from %lld up or null",
                         place_text(&check->place), (long long)values[i], (long long)field->min);
    }
    return STATUS_OK;
}

static enum status check_enum(struct check *check, const struct field *field, int value)
{
    char text[32];

    if (value >= 0 && (size_t)value < field->name_count)
        return STATUS_OK;
    snprintf(text, sizeof text, "%d", value);
    return refuse(check, field, FIELD_ENUM, text);
}

static enum status check_point(struct check *check, const struct field *field, const double *point)
{
    if (isfinite(point[0]) && isfinite(point[1]))
        return STATUS_OK;
    return refuse(check, field, FIELD_POINT, "what is not finite");
}

static enum status check_bytes(struct check *check, const struct field *field,
                               const struct bytes *bytes)
{
    if (bytes->length >= (size_t)field->min && bytes->length <= field->size)
        return STATUS_OK;
    return refuse(check, field, FIELD_BYTES, "this");
}

static enum status check_element(struct check *check, const struct field *field, const void *at)
{
    switch (field->of) {
    case FIELD_INT:
        return check_int(check, field, *(const int64_t *)at);
    case FIELD_REAL:
        return check_real(check, field, *(const double *)at);
    case FIELD_ENUM:
        return check_enum(check, field, *(const int *)at);
    case FIELD_RECORD:
        return check_record(check, field->record, at);
    case FIELD_PAIR:
        return check_pair(check, field, at);
    case FIELD_POINT:
        return check_point(check, field, at);
    case FIELD_NAMED:
        return check_named(check, field, at);
    case FIELD_WORD:
        return check_word(check, field, *(char *const *)at);
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_INLINE:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        break;
    }
    return STATUS_OK;
}

static enum status check_size(struct check *check, const struct list *list, size_t cap)
{
    if (list->count <= cap)
        return STATUS_OK;
    return fault_set(check->fault, STATUS_TOO_LARGE, "%s: %zu entries, at most %zu are allowed",
                     place_text(&check->place), list->count, cap);
}

static enum status check_list(struct check *check, const struct field *field,
                              const struct list *list)
{
    enum status status = check_size(check, list, field->size);

    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        size_t back = place_enter_index(&check->place, i);

        status =
            check_element(check, field, (const char *)list->items + i * field_element_size(field));
        place_leave(&check->place, back);
    }
    return status;
}

static enum status check_map(struct check *check, const struct list *map)
{
    const struct map_item *items = map->items;
    enum status status = check_size(check, map, LIMIT_MAP_ENTRIES);

    for (size_t i = 0; i < map->count && status == STATUS_OK; i++) {
        size_t back = check->place.length;

        if (!is_text(items[i].key, sizeof items[i].key))
            return fault_set(check->fault, STATUS_RANGE, "%s: key %zu is no UTF-8 text",
                             place_text(&check->place), i);
        place_enter(&check->place, items[i].key);
        if (!is_text(items[i].text, sizeof items[i].text))
            status = fault_set(check->fault, STATUS_RANGE, "%s: no UTF-8 text",
                               place_text(&check->place));
        else if (map_find(map, items[i].key) != &items[i])
            status = fault_set(check->fault, STATUS_RANGE, "%s: is there twice",
                               place_text(&check->place));
        place_leave(&check->place, back);
    }
    return status;
}

static enum status check_part(struct check *check, const struct field *field, const void *at)
{
    if ((field->flags & FIELD_NULLABLE) != 0 && !record_is_present(field->record, at))
        return STATUS_OK;
    return check_record(check, field->record, at);
}

static enum status check_field(struct check *check, const struct field *field, const void *object)
{
    const void *at = (const char *)object + field->offset;

    switch (field->type) {
    case FIELD_INT:
        return check_int(check, field, *(const int64_t *)at);
    case FIELD_REAL:
        return check_real(check, field, *(const double *)at);
    case FIELD_TEXT:
        return check_text(check, field, at);
    case FIELD_ENUM:
        return check_enum(check, field, *(const int *)at);
    case FIELD_RECORD:
        return check_part(check, field, at);
    case FIELD_INLINE:
        return check_record(check, field->record, at);
    case FIELD_NAMED:
        return check_named(check, field, at);
    case FIELD_LIST:
        return check_list(check, field, at);
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return check_map(check, at);
    case FIELD_BOOL:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
        break;
    case FIELD_BYTES:
        return check_bytes(check, field, at);
    }
    return STATUS_OK;
}

static enum status check_record(struct check *check, const struct record *record,
                                const void *object)
{
    if (!record_is_present(record, object))
        return fault_set(check->fault, STATUS_RANGE, "%s: null is not allowed: an object (%s)",
                         place_text(&check->place), record->name);
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        size_t back = check->place.length;
        enum status status;

        if (!field_applies(field, object))
            continue;
        if (field->type != FIELD_INLINE)
            place_enter(&check->place, field->name);
        status = check_field(check, field, object);
        place_leave(&check->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status record_check(const struct record *record, const void *object, struct fault *fault)
{
    struct check check = { .fault = fault };

    return check_record(&check, record, object);
}
