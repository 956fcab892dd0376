/* Owns the check of a filled struct against its table: ranges, lengths, enums. Knows no text form.
 */
#include "proto/wire/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"
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
    return fault_set(check->fault, STATUS_RANGE, "%s: %s is not allowed: %s",
                     place_text(&check->place), value, allowed);
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

static enum status check_text(struct check *check, const struct field *field, const char *text)
{
    size_t length = strnlen(text, field->size);

    if (length < field->size && text_is_utf8(text, length))
        return STATUS_OK;
    return refuse(check, field, FIELD_TEXT, "this text");
}

static enum status check_enum(struct check *check, const struct field *field, int value)
{
    char text[32];

    if (value >= 0 && (size_t)value < field->name_count)
        return STATUS_OK;
    snprintf(text, sizeof text, "%d", value);
    return refuse(check, field, FIELD_ENUM, text);
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
    case FIELD_WORD:
    case FIELD_NAMED:
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_INLINE:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        break;
    }
    return STATUS_OK;
}

static enum status check_list(struct check *check, const struct field *field,
                              const struct list *list)
{
    size_t cap = field->type == FIELD_LIST ? field->size : (size_t)LIMIT_MAP_ENTRIES;

    if (list->count > cap)
        return fault_set(check->fault, STATUS_TOO_LARGE, "%s: %zu entries, at most %zu are allowed",
                         place_text(&check->place), list->count, cap);
    if (field->type != FIELD_LIST)
        return STATUS_OK;
    for (size_t i = 0; i < list->count; i++) {
        size_t back = place_enter_index(&check->place, i);
        const char *at = (const char *)list->items + i * field_element_size(field);
        enum status status = check_element(check, field, at);

        place_leave(&check->place, back);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
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
    case FIELD_INLINE:
        return check_record(check, field->record, at);
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return check_list(check, field, at);
    case FIELD_BOOL:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_WORD:
        break;
    }
    return STATUS_OK;
}

static enum status check_record(struct check *check, const struct record *record,
                                const void *object)
{
    if (!record_is_present(record, object))
        return STATUS_OK;
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        size_t back = check->place.length;
        enum status status;

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
