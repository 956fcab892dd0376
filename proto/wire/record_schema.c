/* Owns the JSON Schema of records: the tables, in the words of draft 2020-12. */
#include "proto/wire/record_json.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *schema_of(const struct record *record);

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

/* Integers that only their type bounds have no maximum in the schema. */
static void put_range(json_t *schema, const struct field *field)
{
    put(schema, "minimum", json_integer(field->min));
    if (field->max != COUNT_MAX)
        put(schema, "maximum", json_integer(field->max));
}

static json_t *names_of(const struct field *field)
{
    json_t *names = must(json_array());

    for (size_t i = 0; i < field->name_count; i++) {
        if (json_array_append_new(names, json_string(field->names[i])) != 0)
            abort();
    }
    return names;
}

static json_t *named_of(const struct field *field)
{
    json_t *properties = must(json_object());

    for (size_t i = 0; i < field->name_count; i++)
        put(properties, field->names[i],
            json_pack("{s:[s,s],s:I}", "type", "integer", "null", "minimum",
                      (json_int_t)field->min));
    return json_pack("{s:s,s:o}", "type", "object", "properties", properties);
}

static json_t *value_of(const struct field *field, enum field_type type);

static json_t *list_of(const struct field *field)
{
    return json_pack("{s:s,s:I,s:o}", "type", "array", "maxItems", (json_int_t)field->size, "items",
                     must(value_of(field, field->of)));
}

static json_t *value_of(const struct field *field, enum field_type type)
{
    json_t *schema = NULL;

    switch (type) {
    case FIELD_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case FIELD_INT:
        schema = must(json_pack("{s:s}", "type", "integer"));
        put_range(schema, field);
        return schema;
    case FIELD_REAL:
        return json_pack("{s:s,s:f,s:f}", "type", "number", "minimum", field->real_min, "maximum",
                         field->real_max);
    case FIELD_TEXT:
    case FIELD_WORD:
    case FIELD_BYTES:
        return json_pack("{s:s}", "type", "string");
    case FIELD_ENUM:
        return json_pack("{s:o}", "enum", names_of(field));
    case FIELD_RECORD:
        return schema_of(field->record);
    case FIELD_NAMED:
        return named_of(field);
    case FIELD_PAIR:
        return json_pack("{s:s,s:i,s:i,s:{s:s,s:I}}", "type", "array", "minItems", 2, "maxItems", 2,
                         "items", "type", "integer", "minimum", (json_int_t)field->min);
    case FIELD_POINT:
        return json_pack("{s:s,s:i,s:i,s:{s:s}}", "type", "array", "minItems", 2, "maxItems", 2,
                         "items", "type", "number");
    case FIELD_LIST:
        return list_of(field);
    case FIELD_MAP_INT:
        return json_pack("{s:s,s:{s:[s,s]}}", "type", "object", "additionalProperties", "type",
                         "integer", "null");
    case FIELD_MAP_TEXT:
        return json_pack("{s:s,s:{s:s}}", "type", "object", "additionalProperties", "type",
                         "string");
    case FIELD_INLINE:
        break;
    }
    assert(false && "no such field");
    return NULL;
}

static json_t *field_of(const struct field *field)
{
    json_t *schema = must(value_of(field, field->type));

    if ((field->flags & FIELD_NULLABLE) != 0)
        schema = must(json_pack("{s:[o,{s:s}]}", "anyOf", schema, "type", "null"));
    if (field->help != NULL)
        put(schema, "description", json_string(field->help));
    return schema;
}

static void require(json_t *required, const char *name)
{
    if (json_array_append_new(required, must(json_string(name))) != 0)
        abort();
}

static void put_fields(const struct record *record, json_t *properties, json_t *required,
                       json_t *choices);

/* The name of the enum that decides whether an inline record's fields stand in the object. */
static const struct field *decider_of(const struct record *record, const struct field *field)
{
    for (size_t i = 0; i < record->count; i++) {
        if (record->fields[i].offset == field->when - 1 && record->fields[i].type == FIELD_ENUM)
            return &record->fields[i];
    }
    assert(false && "no field decides");
    return NULL;
}

/* "If the decider has this value, then these keys are required." */
static void put_choice(const struct record *record, const struct field *field, json_t *properties,
                       json_t *choices)
{
    const struct field *decider = decider_of(record, field);
    json_t *required = must(json_array());
    json_t *choice;

    put_fields(field->record, properties, required, choices);
    choice = json_pack("{s:{s:{s:{s:s}}},s:{s:o}}", "if", "properties", decider->name, "const",
                       decider->names[field->when_value], "then", "required", required);
    if (json_array_append_new(choices, must(choice)) != 0)
        abort();
}

static void put_fields(const struct record *record, json_t *properties, json_t *required,
                       json_t *choices)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (field->type == FIELD_INLINE && field->when != 0) {
            put_choice(record, field, properties, choices);
        } else if (field->type == FIELD_INLINE) {
            put_fields(field->record, properties, required, choices);
        } else {
            put(properties, field->name, field_of(field));
            if ((field->flags & FIELD_OPTIONAL) == 0)
                require(required, field->name);
        }
    }
}

static json_t *schema_of(const struct record *record)
{
    json_t *properties = must(json_object());
    json_t *required = must(json_array());
    json_t *choices = must(json_array());
    json_t *schema;

    put_fields(record, properties, required, choices);
    schema = must(json_pack("{s:s,s:o,s:o}", "type", "object", "properties", properties, "required",
                            required));
    if (json_array_size(choices) > 0)
        put(schema, "allOf", json_incref(choices));
    json_decref(choices);
    return schema;
}

static int append(const char *bytes, size_t length, void *context)
{
    buf_append(context, bytes, length);
    return 0;
}

enum status record_schema(const struct record *record, const char *title, struct buf *out_text)
{
    json_t *schema = must(json_pack(
        "{s:s,s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title", title));
    json_t *object = must(schema_of(record));

    if (json_object_update(schema, object) != 0)
        abort();
    json_decref(object);
    if (json_dump_callback(schema, append, out_text, JSON_INDENT(1)) != 0)
        abort();
    buf_text(out_text, "\n");
    json_decref(schema);
    return buf_status(out_text);
}
