/* Owns the way from JSON to records: jansson parses what has passed the check of its form, what a
 * record is comes from its table. */
#include "proto/wire/record_json.h"

#include <jansson.h>
#include <string.h>

#include "proto/wire/json_place.h"
#include "proto/wire/record_read.h"

static void look(void *node, enum field_type wanted, struct value *out_value)
{
    json_t *json = node;

    (void)wanted;
    *out_value = (struct value){ .node = node };
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        out_value->kind = VALUE_OBJECT;
        out_value->length = json_object_size(json);
        return;
    case JSON_ARRAY:
        out_value->kind = VALUE_LIST;
        out_value->length = json_array_size(json);
        return;
    case JSON_STRING:
        out_value->kind = VALUE_TEXT;
        out_value->bytes = json_string_value(json);
        out_value->length = json_string_length(json);
        return;
    case JSON_INTEGER:
        out_value->kind = VALUE_INT;
        out_value->integer = json_integer_value(json);
        return;
    case JSON_REAL:
        out_value->kind = VALUE_REAL;
        out_value->real = json_real_value(json);
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        out_value->kind = VALUE_BOOL;
        out_value->truth = json_is_true(json);
        return;
    case JSON_NULL:
        return;
    }
}

static void *find(struct value *object, const char *key)
{
    return json_object_get(object->node, key);
}

static void *element(const struct value *list, size_t index)
{
    return json_array_get(list->node, index);
}

static bool next(const struct value *object, struct value_entry *entry)
{
    entry->iterator = entry->iterator == NULL
                          ? json_object_iter(object->node)
                          : json_object_iter_next(object->node, entry->iterator);
    if (entry->iterator == NULL)
        return false;
    entry->key = json_object_iter_key(entry->iterator);
    entry->length = strlen(entry->key);
    entry->node = json_object_iter_value(entry->iterator);
    return true;
}

static const struct value_form json_form = {
    .look = look, .find = find, .element = element, .next = next
};

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
    json_t *json;
    json_error_t error;
    enum status status;

    record_init(record, out_object);
    status = json_check_form(text, length, fault);
    if (status != STATUS_OK)
        return status;
    json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        return refuse_text(text, length, &error, fault);
    status = value_read(&json_form, record, json, out_object, fault);
    json_decref(json);
    if (status != STATUS_OK)
        record_done(record, out_object);
    return status;
}
