/* Owns the way from records to msgpack. msgpack-c packs; what a record is comes from its table. */
#include "proto/wire/record_msgpack.h"

#include <assert.h>
#include <math.h>
#include <msgpack.h>
#include <string.h>

static void pack_object(msgpack_packer *packer, const struct record *record, const void *object);

static void pack_text(msgpack_packer *packer, const char *text)
{
    size_t length = strlen(text);

    msgpack_pack_str(packer, length);
    msgpack_pack_str_body(packer, text, length);
}

static void pack_int(msgpack_packer *packer, int64_t value)
{
    if (value == NONE_INT)
        msgpack_pack_nil(packer);
    else
        msgpack_pack_int64(packer, value);
}

static void pack_real(msgpack_packer *packer, double value)
{
    if (isnan(value))
        msgpack_pack_nil(packer);
    else
        msgpack_pack_double(packer, value);
}

static void pack_bool(msgpack_packer *packer, bool value)
{
    if (value)
        msgpack_pack_true(packer);
    else
        msgpack_pack_false(packer);
}

static void pack_nullable_text(msgpack_packer *packer, const struct field *field, const char *text)
{
    if (*text == '\0' && (field->flags & FIELD_NULLABLE) != 0)
        msgpack_pack_nil(packer);
    else
        pack_text(packer, text);
}

static void pack_bytes(msgpack_packer *packer, const struct bytes *bytes)
{
    msgpack_pack_bin(packer, bytes->length);
    if (bytes->length > 0)
        msgpack_pack_bin_body(packer, bytes->data, bytes->length);
}

static void pack_named(msgpack_packer *packer, const struct field *field, const int64_t *values)
{
    msgpack_pack_map(packer, field->name_count);
    for (size_t i = 0; i < field->name_count; i++) {
        pack_text(packer, field->names[i]);
        pack_int(packer, values[i]);
    }
}

static void pack_map(msgpack_packer *packer, const struct field *field, const struct list *map)
{
    const struct map_item *items = map->items;

    msgpack_pack_map(packer, map->count);
    for (size_t i = 0; i < map->count; i++) {
        pack_text(packer, items[i].key);
        if (field->type == FIELD_MAP_INT)
            pack_int(packer, items[i].number);
        else
            pack_text(packer, items[i].text);
    }
}

static void pack_pair(msgpack_packer *packer, const int64_t *pair)
{
    msgpack_pack_array(packer, 2);
    pack_int(packer, pair[0]);
    pack_int(packer, pair[1]);
}

static void pack_point(msgpack_packer *packer, const double *point)
{
    msgpack_pack_array(packer, 2);
    pack_real(packer, point[0]);
    pack_real(packer, point[1]);
}

static void pack_element(msgpack_packer *packer, const struct field *field, const void *at)
{
    switch (field->of) {
    case FIELD_INT:
        pack_int(packer, *(const int64_t *)at);
        return;
    case FIELD_REAL:
        pack_real(packer, *(const double *)at);
        return;
    case FIELD_ENUM:
        pack_text(packer, field->names[*(const int *)at]);
        return;
    case FIELD_WORD:
        pack_text(packer, *(char *const *)at);
        return;
    case FIELD_PAIR:
        pack_pair(packer, at);
        return;
    case FIELD_POINT:
        pack_point(packer, at);
        return;
    case FIELD_NAMED:
        pack_named(packer, field, at);
        return;
    case FIELD_RECORD:
        pack_object(packer, field->record, at);
        return;
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
}

static void pack_list(msgpack_packer *packer, const struct field *field, const struct list *list)
{
    size_t size = field_element_size(field);

    msgpack_pack_array(packer, list->count);
    for (size_t i = 0; i < list->count; i++)
        pack_element(packer, field, (const char *)list->items + i * size);
}

static void pack_value(msgpack_packer *packer, const struct field *field, const void *at)
{
    switch (field->type) {
    case FIELD_BOOL:
        pack_bool(packer, *(const bool *)at);
        return;
    case FIELD_INT:
        pack_int(packer, *(const int64_t *)at);
        return;
    case FIELD_REAL:
        pack_real(packer, *(const double *)at);
        return;
    case FIELD_TEXT:
        pack_nullable_text(packer, field, at);
        return;
    case FIELD_ENUM:
        pack_text(packer, field->names[*(const int *)at]);
        return;
    case FIELD_RECORD:
        pack_object(packer, field->record, at);
        return;
    case FIELD_NAMED:
        pack_named(packer, field, at);
        return;
    case FIELD_LIST:
        pack_list(packer, field, at);
        return;
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        pack_map(packer, field, at);
        return;
    case FIELD_BYTES:
        pack_bytes(packer, at);
        return;
    case FIELD_INLINE:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
        break;
    }
    assert(false && "no such field");
}

/* How many keys an object has: a map says so in front. */
static size_t count_keys(const struct record *record, const void *object)
{
    size_t count = 0;

    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (!field_applies(field, object))
            continue;
        count += field->type == FIELD_INLINE
                     ? count_keys(field->record, (const char *)object + field->offset)
                     : 1;
    }
    return count;
}

static void pack_fields(msgpack_packer *packer, const struct record *record, const void *object)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        const void *at = (const char *)object + field->offset;

        if (!field_applies(field, object))
            continue;
        if (field->type == FIELD_INLINE) {
            pack_fields(packer, field->record, at);
            continue;
        }
        pack_text(packer, field->name);
        pack_value(packer, field, at);
    }
}

static void pack_object(msgpack_packer *packer, const struct record *record, const void *object)
{
    if (!record_is_present(record, object)) {
        msgpack_pack_nil(packer);
        return;
    }
    msgpack_pack_map(packer, count_keys(record, object));
    pack_fields(packer, record, object);
}

/* What the buffer did not take it remembers itself. */
static int append(void *context, const char *bytes, size_t length)
{
    buf_append(context, bytes, length);
    return 0;
}

enum status record_to_msgpack(const struct record *record, const void *object,
                              struct buf *out_bytes)
{
    enum status checked = record_check(record, object, NULL);
    msgpack_packer packer;

    assert(checked == STATUS_OK);
    msgpack_packer_init(&packer, out_bytes, append);
    pack_object(&packer, record, object);
    return buf_status(out_bytes);
}

const char *record_msgpack_library(void)
{
    return msgpack_version();
}
