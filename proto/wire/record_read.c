/* Owns the way from a form's tree to a struct: every type, range and key is checked before anything
 * is believed. Knows neither JSON nor msgpack nor YAML. */
#include "proto/wire/record_read.h"

#include <assert.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_scalar.h"

enum { NAMES_MAX = 256 };

static enum status read_record(struct reader *reader, const struct record *record,
                               struct value *value, void *object);

static enum status read_named(struct reader *reader, const struct field *field, struct value *value,
                              int64_t *values)
{
    if (value->kind != VALUE_OBJECT)
        return reader_refuse(reader, field, FIELD_NAMED, value);
    for (size_t i = 0; i < field->name_count; i++) {
        void *node = reader->form->find(value, field->names[i]);
        size_t back = place_enter(&reader->place, field->names[i]);
        struct value number;
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
    char text[MAP_TEXT_SIZE];
    int64_t number;
    enum status status;

    if (field->type == FIELD_MAP_INT) {
        status = read_count_or_null(reader, NONE_INT + 1, value, &number);
        if (status == STATUS_OK)
            map_add_int(map, key, number);
        return status;
    }
    status = read_map_text(reader, value, text, sizeof text);
    if (status == STATUS_OK)
        map_add_text(map, key, text);
    return status;
}

/* A key of an entry, cut where a place would be. */
static void entry_key(const struct value_entry *entry, char out_key[PLACE_TEXT_SIZE])
{
    size_t kept = entry->length < PLACE_TEXT_SIZE ? entry->length : PLACE_TEXT_SIZE - 1;

    memcpy(out_key, entry->key, kept);
    out_key[kept] = '\0';
}

static enum status read_map_entry(struct reader *reader, const struct field *field,
                                  const struct value_entry *entry, struct list *map)
{
    char key[PLACE_TEXT_SIZE];
    struct value value;
    size_t back;
    enum status status;

    entry_key(entry, key);
    back = place_enter(&reader->place, key);
    reader->form->look(entry->node, field->type == FIELD_MAP_INT ? FIELD_INT : FIELD_TEXT, &value);
    if (entry->length >= MAP_KEY_SIZE)
        status = reader_fault(reader, &value, STATUS_TOO_LARGE, "key longer than %d bytes",
                              MAP_KEY_SIZE - 1);
    else
        status = read_map_value(reader, field, key, &value, map);
    place_leave(&reader->place, back);
    return status;
}

static enum status check_count(struct reader *reader, const struct value *value, size_t most)
{
    if (value->length <= most)
        return STATUS_OK;
    return reader_fault(reader, value, STATUS_TOO_LARGE, "%zu entries, at most %zu are allowed",
                        value->length, most);
}

static enum status read_map(struct reader *reader, const struct field *field,
                            const struct value *value, struct list *map)
{
    struct value_entry entry = { 0 };
    enum status status;

    if (value->kind != VALUE_OBJECT)
        return reader_refuse(reader, field, field->type, value);
    status = check_count(reader, value, LIMIT_MAP_ENTRIES);
    while (status == STATUS_OK && reader->form->next(value, &entry))
        status = read_map_entry(reader, field, &entry, map);
    return status;
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
    struct value two[2];

    if (!look_at_two(reader, FIELD_INT, value, two) || two[0].kind != VALUE_INT ||
        two[1].kind != VALUE_INT || two[0].integer < field->min || two[1].integer < field->min)
        return reader_refuse(reader, field, FIELD_PAIR, value);
    pair[0] = two[0].integer;
    pair[1] = two[1].integer;
    return STATUS_OK;
}

static enum status read_point(struct reader *reader, const struct field *field,
                              const struct value *value, double *point)
{
    struct value two[2];

    if (!look_at_two(reader, FIELD_REAL, value, two) || !value_number(&two[0], &point[0]) ||
        !value_number(&two[1], &point[1]))
        return reader_refuse(reader, field, FIELD_POINT, value);
    return STATUS_OK;
}

static enum status read_element(struct reader *reader, const struct field *field,
                                struct value *value, void *at)
{
    if (field->of == FIELD_PAIR)
        return read_pair(reader, field, value, at);
    if (field->of == FIELD_POINT)
        return read_point(reader, field, value, at);
    if (field->of == FIELD_NAMED)
        return read_named(reader, field, value, at);
    if (field->of == FIELD_RECORD)
        return read_record(reader, field->record, value, at);
    return read_scalar(reader, field, field->of, value, at);
}

static enum status read_list(struct reader *reader, const struct field *field,
                             const struct value *value, struct list *list)
{
    bool defaults = reader->defaults;
    enum status status;

    if (value->kind != VALUE_LIST)
        return reader_refuse(reader, field, FIELD_LIST, value);
    status = check_count(reader, value, field->size);
    reader->defaults = false;
    for (size_t i = 0; status == STATUS_OK && i < value->length; i++) {
        void *at = list_append(list, field);
        size_t back = place_enter_index(&reader->place, i);
        struct value element;

        if (field->of == FIELD_RECORD)
            record_init(field->record, at);
        reader->form->look(reader->form->element(value, i), field->of, &element);
        status = read_element(reader, field, &element, at);
        place_leave(&reader->place, back);
    }
    reader->defaults = defaults;
    return status;
}

static enum status read_part(struct reader *reader, const struct field *field, struct value *value,
                             void *at)
{
    bool defaults = reader->defaults;
    enum status status;

    if (value_is_null(field, value)) {
        record_set_present(field->record, at, false);
        return STATUS_OK;
    }
    reader->defaults = defaults && record_is_present(field->record, at);
    status = read_record(reader, field->record, value, at);
    reader->defaults = defaults;
    return status;
}

static enum status read_value(struct reader *reader, const struct field *field, struct value *value,
                              void *at)
{
    switch (field->type) {
    case FIELD_RECORD:
        return read_part(reader, field, value, at);
    case FIELD_NAMED:
        return read_named(reader, field, value, at);
    case FIELD_LIST:
        return read_list(reader, field, value, at);
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return read_map(reader, field, value, at);
    case FIELD_BOOL:
    case FIELD_INT:
    case FIELD_REAL:
    case FIELD_TEXT:
    case FIELD_ENUM:
    case FIELD_BYTES:
        return read_scalar(reader, field, field->type, value, at);
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
        break;
    }
    assert(false && "no such field");
    return STATUS_INVALID;
}

static bool holds_list(enum field_type type)
{
    return type == FIELD_LIST || type == FIELD_MAP_INT || type == FIELD_MAP_TEXT;
}

static enum status read_field(struct reader *reader, const struct field *field,
                              struct value *parent, void *object)
{
    void *node = reader->form->find(parent, field->name);
    struct value value;
    size_t back;
    enum status status;

    if (node == NULL && (reader->defaults || (field->flags & FIELD_OPTIONAL) != 0))
        return STATUS_OK;
    back = place_enter(&reader->place, field->name);
    if (node == NULL) {
        status = reader_fault(reader, parent, STATUS_INVALID, "missing");
    } else {
        if (holds_list(field->type))
            field_done(field, object); /* what is given replaces a default */
        reader->form->look(node, field->type, &value);
        status = read_value(reader, field, &value, (char *)object + field->offset);
    }
    place_leave(&reader->place, back);
    return status;
}

static enum status read_fields(struct reader *reader, const struct record *record,
                               struct value *value, void *object)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (!field_applies(field, object))
            continue;
        if (field->type == FIELD_INLINE)
            status = read_fields(reader, field->record, value, (char *)object + field->offset);
        else
            status = read_field(reader, field, value, object);
    }
    return status;
}

/* The names that may stand in this object, NULL behind the last. */
static size_t list_names(const struct record *record, const void *object, const char **out_names,
                         size_t count)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (!field_applies(field, object))
            continue;
        if (field->type == FIELD_INLINE) {
            count =
                list_names(field->record, (const char *)object + field->offset, out_names, count);
            continue;
        }
        assert(count + 1 < NAMES_MAX);
        out_names[count++] = field->name;
    }
    out_names[count] = NULL;
    return count;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static enum status refuse_unknown(struct reader *reader, const struct record *record,
                                  const struct value *value, const void *object)
{
    const char *names[NAMES_MAX];
    struct value_entry entry = { 0 };

    list_names(record, object, names, 0);
    while (reader->form->next(value, &entry)) {
        char key[PLACE_TEXT_SIZE];
        const char *nearest;
        struct value unknown;

        entry_key(&entry, key);
        if (is_among(key, names))
            continue;
        nearest = text_nearest(key, names);
        reader->form->look(entry.node, FIELD_TEXT, &unknown);
        place_enter(&reader->place, key);
        return reader_fault(reader, &unknown, STATUS_INVALID, "unknown key%s%s%s",
                            nearest == NULL ? "" : "; did you mean ",
                            nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
    }
    return STATUS_OK;
}

static enum status read_record(struct reader *reader, const struct record *record,
                               struct value *value, void *object)
{
    enum status status;

    if (value->kind != VALUE_OBJECT)
        return reader_fault(reader, value, STATUS_INVALID, "%s is not allowed: an object (%s)",
                            value_kind_name(value->kind), record->name);
    status = read_fields(reader, record, value, object);
    if (status == STATUS_OK && reader->form->by_hand)
        status = refuse_unknown(reader, record, value, object);
    if (status == STATUS_OK && record->present != 0)
        record_set_present(record, object, true);
    return status;
}

enum status value_read(const struct value_form *form, const struct record *record, void *node,
                       void *object, struct fault *fault)
{
    struct reader reader = { .form = form, .defaults = form->by_hand, .fault = fault };
    struct value value;

    form->look(node, FIELD_RECORD, &value);
    return read_record(&reader, record, &value, object);
}
