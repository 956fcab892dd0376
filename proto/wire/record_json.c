/* Owns the way from records to JSON. jansson prints; what a record is comes from its table. */
#include "proto/wire/record_json.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a double holds for sure: 0.1 is written as 0.1, and no measured time has more digits. */
enum { REAL_DIGITS = 15 };

static json_t *object_of(const struct record *record, const void *object);

static json_t *must(json_t *json)
{
    if (json == NULL)
        abort();
    return json;
}

static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, must(value)) != 0)
        abort();
}

static json_t *int_of(int64_t value)
{
    return value == NONE_INT ? json_null() : json_integer(value);
}

/* Whole numbers are written without a point, so that 2304 bytes look like what they are. */
static json_t *real_of(double value)
{
    if (isnan(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 9e18)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static json_t *named_of(const struct field *field, const int64_t *values)
{
    json_t *object = must(json_object());

    for (size_t i = 0; i < field->name_count; i++)
        put(object, field->names[i], int_of(values[i]));
    return object;
}

static json_t *map_of(const struct field *field, const struct list *map)
{
    json_t *object = must(json_object());
    const struct map_item *items = map->items;

    for (size_t i = 0; i < map->count; i++)
        put(object, items[i].key,
            field->type == FIELD_MAP_INT ? int_of(items[i].number) : json_string(items[i].text));
    return object;
}

static json_t *element_of(const struct field *field, const void *at)
{
    const int64_t *pair = at;
    const double *point = at;

    switch (field->of) {
    case FIELD_INT:
        return int_of(*(const int64_t *)at);
    case FIELD_REAL:
        return real_of(*(const double *)at);
    case FIELD_ENUM:
        return json_string(field->names[*(const int *)at]);
    case FIELD_WORD:
        return json_string(*(char *const *)at);
    case FIELD_PAIR:
        return json_pack("[I,I]", (json_int_t)pair[0], (json_int_t)pair[1]);
    case FIELD_POINT:
        return json_pack("[o,o]", real_of(point[0]), real_of(point[1]));
    case FIELD_NAMED:
        return named_of(field, at);
    case FIELD_RECORD:
        return object_of(field->record, at);
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
    return NULL;
}

static json_t *list_of(const struct field *field, const struct list *list)
{
    json_t *array = must(json_array());
    size_t size = field_element_size(field);

    for (size_t i = 0; i < list->count; i++) {
        if (json_array_append_new(array,
                                  must(element_of(field, (const char *)list->items + i * size))))
            abort();
    }
    return array;
}

static json_t *text_of(const struct field *field, const char *text)
{
    if (*text == '\0' && (field->flags & FIELD_NULLABLE) != 0)
        return json_null();
    return json_string(text);
}

static void put_fields(json_t *json, const struct record *record, const void *object);

static json_t *value_of(const struct field *field, const void *at)
{
    switch (field->type) {
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_INT:
        return int_of(*(const int64_t *)at);
    case FIELD_REAL:
        return real_of(*(const double *)at);
    case FIELD_TEXT:
        return text_of(field, at);
    case FIELD_ENUM:
        return json_string(field->names[*(const int *)at]);
    case FIELD_RECORD:
        return object_of(field->record, at);
    case FIELD_NAMED:
        return named_of(field, at);
    case FIELD_LIST:
        return list_of(field, at);
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return map_of(field, at);
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_BYTES:
        break;
    }
    assert(false && "no such field");
    return NULL;
}

static void put_fields(json_t *json, const struct record *record, const void *object)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        const void *at = (const char *)object + field->offset;

        if (!field_applies(field, object))
            continue;
        if (field->type == FIELD_INLINE)
            put_fields(json, field->record, at);
        else
            put(json, field->name, value_of(field, at));
    }
}

static json_t *object_of(const struct record *record, const void *object)
{
    json_t *json;

    if (!record_is_present(record, object))
        return json_null();
    json = must(json_object());
    put_fields(json, record, object);
    return json;
}

static int append(const char *bytes, size_t length, void *context)
{
    buf_append(context, bytes, length);
    return 0;
}

enum status record_to_json(const struct record *record, const void *object, struct buf *out_text)
{
    enum status checked = record_check(record, object, NULL);
    json_t *json;

    assert(checked == STATUS_OK);
    json = object_of(record, object);
    if (json_dump_callback(json, append, out_text,
                           JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) != 0)
        abort();
    json_decref(json);
    return buf_status(out_text);
}

const char *record_json_library(void)
{
    return jansson_version_str();
}
