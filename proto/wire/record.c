/* Owns what every record can do without a text form: start empty, be freed, be checked, be asked
 * for a field. Knows no record in particular. */
#include "proto/wire/record.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"

static void *member(const struct field *field, void *object)
{
    return (char *)object + field->offset;
}

bool record_is_present(const struct record *record, const void *object)
{
    return record->present == 0 || *((const bool *)object + record->present - 1);
}

bool field_applies(const struct field *field, const void *object)
{
    return field->when == 0 || *(const int *)(const void *)((const char *)object + field->when -
                                                            1) == field->when_value;
}

void record_set_present(const struct record *record, void *object, bool present)
{
    assert(present || record->present != 0);
    if (record->present != 0)
        *((bool *)object + record->present - 1) = present;
}

static void init_field(const struct field *field, void *object)
{
    void *at = member(field, object);

    switch (field->type) {
    case FIELD_INT:
        *(int64_t *)at = (field->flags & FIELD_NULLABLE) != 0 ? NONE_INT : 0;
        break;
    case FIELD_REAL:
        *(double *)at = (field->flags & FIELD_NULLABLE) != 0 ? (double)NAN : 0.0;
        break;
    case FIELD_RECORD:
    case FIELD_INLINE:
        record_init(field->record, at);
        break;
    case FIELD_NAMED:
        for (size_t i = 0; i < field->name_count; i++)
            ((int64_t *)at)[i] = NONE_INT;
        break;
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_ENUM:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        break;
    }
}

void record_init(const struct record *record, void *out_object)
{
    memset(out_object, 0, record->size);
    for (size_t i = 0; i < record->count; i++)
        init_field(&record->fields[i], out_object);
}

size_t field_element_size(const struct field *field)
{
    switch (field->of) {
    case FIELD_INT:
        return sizeof(int64_t);
    case FIELD_REAL:
        return sizeof(double);
    case FIELD_ENUM:
        return sizeof(int);
    case FIELD_PAIR:
        return 2 * sizeof(int64_t);
    case FIELD_POINT:
        return 2 * sizeof(double);
    case FIELD_WORD:
        return sizeof(char *);
    case FIELD_NAMED:
        return field->name_count * sizeof(int64_t);
    case FIELD_RECORD:
        return field->record->size;
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
    return 0;
}

static void done_list(const struct field *field, struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (field->of == FIELD_WORD)
            free(((char **)list->items)[i]);
        else if (field->of == FIELD_RECORD)
            record_done(field->record, (char *)list->items + i * field->record->size);
    }
    free(list->items);
    *list = (struct list){ 0 };
}

void field_done(const struct field *field, void *object)
{
    void *at = member(field, object);

    if (field->type == FIELD_RECORD || field->type == FIELD_INLINE) {
        record_done(field->record, at);
    } else if (field->type == FIELD_LIST) {
        done_list(field, at);
    } else if (field->type == FIELD_MAP_INT || field->type == FIELD_MAP_TEXT) {
        free(((struct list *)at)->items);
        *(struct list *)at = (struct list){ 0 };
    } else if (field->type == FIELD_BYTES) {
        bytes_done(at);
    }
}

void record_done(const struct record *record, void *object)
{
    if (object == NULL)
        return;
    for (size_t i = 0; i < record->count; i++)
        field_done(&record->fields[i], object);
    record_init(record, object);
}

static void names_text(const struct field *field, char *out_text, size_t size)
{
    int used = snprintf(out_text, size, "one of ");

    for (size_t i = 0; i < field->name_count && used > 0 && (size_t)used < size; i++)
        used += snprintf(out_text + used, size - (size_t)used, "%s%s", i == 0 ? "" : ", ",
                         field->names[i]);
}

static void bytes_text(const struct field *field, char *out_text, size_t size)
{
    if (field->min == 0)
        snprintf(out_text, size, "at most %zu bytes", field->size);
    else if ((size_t)field->min == field->size)
        snprintf(out_text, size, "%zu bytes", field->size);
    else
        snprintf(out_text, size, "%lld to %zu bytes", (long long)field->min, field->size);
}

void field_allowed_as(const struct field *field, enum field_type type, char *out_text, size_t size)
{
    switch (type) {
    case FIELD_BOOL:
        snprintf(out_text, size, "true or false");
        break;
    case FIELD_INT:
        if (field->max == COUNT_MAX)
            snprintf(out_text, size, "an integer from %lld up", (long long)field->min);
        else
            snprintf(out_text, size, "an integer from %lld to %lld", (long long)field->min,
                     (long long)field->max);
        break;
    case FIELD_REAL:
        snprintf(out_text, size, "a number from %.12g to %.12g", field->real_min, field->real_max);
        break;
    case FIELD_TEXT:
        snprintf(out_text, size, "UTF-8 text of at most %zu bytes", field->size - 1);
        break;
    case FIELD_ENUM:
        names_text(field, out_text, size);
        break;
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        snprintf(out_text, size, "an object");
        break;
    case FIELD_PAIR:
        snprintf(out_text, size, "a pair of integers [a, b] from %lld up", (long long)field->min);
        break;
    case FIELD_POINT:
        snprintf(out_text, size, "a pair of numbers [x, y]");
        break;
    case FIELD_WORD:
        snprintf(out_text, size, "UTF-8 text of at most %d bytes", LIMIT_COMMAND_WORD_BYTES);
        break;
    case FIELD_LIST:
        snprintf(out_text, size, "a list");
        break;
    case FIELD_BYTES:
        bytes_text(field, out_text, size);
        break;
    }
}

void field_allowed(const struct field *field, char *out_text, size_t size)
{
    char element[256];

    if (field->type != FIELD_LIST) {
        field_allowed_as(field, field->type, out_text, size);
        return;
    }
    field_allowed_as(field, field->of, element, sizeof element);
    snprintf(out_text, size, "a list of up to %zu, each %s", field->size, element);
}

const struct field *record_field(const struct record *record, const char *name, size_t *out_base)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        const struct field *inside;
        size_t base = 0;

        if (field->type != FIELD_INLINE) {
            if (strcmp(field->name, name) != 0)
                continue;
            if (out_base != NULL)
                *out_base = 0;
            return field;
        }
        inside = record_field(field->record, name, &base);
        if (inside == NULL)
            continue;
        if (out_base != NULL)
            *out_base = base + field->offset;
        return inside;
    }
    return NULL;
}

static void *grow(struct list *list, size_t element_size)
{
    size_t count = list->count;
    char *items = list->items;

    /* Doubling: the capacity is the next power of two, so it needs no member of its own. */
    if ((count & (count - 1)) == 0) {
        size_t capacity = count == 0 ? 1 : count * 2;

        assert(capacity <= SIZE_MAX / element_size);
        items = realloc(items, capacity * element_size);
        if (items == NULL)
            abort();
        list->items = items;
    }
    memset(items + count * element_size, 0, element_size);
    list->count = count + 1;
    return items + count * element_size;
}

void *list_append_sized(struct list *list, size_t element_size)
{
    return grow(list, element_size);
}

void *list_append(struct list *list, const struct field *field)
{
    if (list->count >= field->size)
        return NULL;
    return grow(list, field_element_size(field));
}

void bytes_set(struct bytes *bytes, const void *data, size_t length)
{
    bytes_done(bytes);
    if (length == 0)
        return;
    bytes->data = malloc(length);
    if (bytes->data == NULL)
        abort();
    memcpy(bytes->data, data, length);
    bytes->length = length;
}

void bytes_done(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){ 0 };
}

void map_add_int(struct list *map, const char *key, int64_t number)
{
    struct map_item *item = grow(map, sizeof *item);

    text_copy(item->key, sizeof item->key, key);
    item->number = number;
}

void map_add_text(struct list *map, const char *key, const char *text)
{
    struct map_item *item = grow(map, sizeof *item);

    text_copy(item->key, sizeof item->key, key);
    text_copy(item->text, sizeof item->text, text);
    item->number = NONE_INT;
}

void words_add(struct list *words, const char *word)
{
    char *copy = strdup(word);

    if (copy == NULL)
        abort();
    *(char **)list_append_sized(words, sizeof copy) = copy;
}

bool words_have(const struct list *words, const char *word)
{
    char *const *all = words->items;

    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(all[i], word) == 0)
            return true;
    }
    return false;
}

void words_done(struct list *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(((char **)words->items)[i]);
    free(words->items);
    *words = (struct list){ 0 };
}

bool map_equal_int(const struct list *a, const struct list *b)
{
    const struct map_item *items = a->items;

    for (size_t i = 0; i < a->count; i++) {
        const struct map_item *other = map_find(b, items[i].key);

        if (other == NULL || other->number != items[i].number)
            return false;
    }
    return a->count == b->count;
}

const struct map_item *map_find(const struct list *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct map_item *item = (const struct map_item *)map->items + i;

        if (strcmp(item->key, key) == 0)
            return item;
    }
    return NULL;
}
