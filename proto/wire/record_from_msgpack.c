/* Owns the way from msgpack to records: msgpack-c decodes what has passed the check of its form,
 * what a record is comes from its table. */
#include "proto/wire/record_msgpack.h"

#include <assert.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/wire/record_read.h"

struct msgpack_tree {
    msgpack_unpacked unpacked;
};

static void look(void *node, enum field_type wanted, struct value *out_value)
{
    const msgpack_object *object = node;

    (void)wanted;
    *out_value = (struct value){ .node = node };
    switch (object->type) {
    case MSGPACK_OBJECT_NIL:
        return;
    case MSGPACK_OBJECT_BOOLEAN:
        out_value->kind = VALUE_BOOL;
        out_value->truth = object->via.boolean;
        return;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        out_value->kind = VALUE_INT;
        out_value->integer = object->via.i64;
        return;
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        out_value->kind = VALUE_REAL;
        out_value->real = object->via.f64;
        return;
    case MSGPACK_OBJECT_STR:
    case MSGPACK_OBJECT_BIN:
        out_value->kind = object->type == MSGPACK_OBJECT_STR ? VALUE_TEXT : VALUE_BYTES;
        out_value->bytes = object->via.bin.ptr;
        out_value->length = object->via.bin.size;
        return;
    case MSGPACK_OBJECT_ARRAY:
        out_value->kind = VALUE_LIST;
        out_value->length = object->via.array.size;
        return;
    case MSGPACK_OBJECT_MAP:
        out_value->kind = VALUE_OBJECT;
        out_value->length = object->via.map.size;
        return;
    case MSGPACK_OBJECT_EXT:
        break;
    }
    assert(false && "no extension passes the check of the form");
}

static bool is_key(const msgpack_object *object, const char *key)
{
    return strncmp(key, object->via.str.ptr, object->via.str.size) == 0 &&
           key[object->via.str.size] == '\0';
}

/* Keys mostly stand in the table's order: the search goes on where the last one ended. */
static void *find(struct value *object, const char *key)
{
    const msgpack_object_map *map = &((const msgpack_object *)object->node)->via.map;

    for (size_t i = 0; i < map->size; i++) {
        size_t at = object->next + i < map->size ? object->next + i : object->next + i - map->size;

        if (is_key(&map->ptr[at].key, key)) {
            object->next = at + 1 < map->size ? at + 1 : 0;
            return &map->ptr[at].val;
        }
    }
    return NULL;
}

static void *element(const struct value *list, size_t index)
{
    return &((const msgpack_object *)list->node)->via.array.ptr[index];
}

static bool next(const struct value *object, struct value_entry *entry)
{
    const msgpack_object_map *map = &((const msgpack_object *)object->node)->via.map;

    if (entry->index == map->size)
        return false;
    entry->key = map->ptr[entry->index].key.via.str.ptr;
    entry->length = map->ptr[entry->index].key.via.str.size;
    entry->node = &map->ptr[entry->index].val;
    entry->index++;
    return true;
}

static const struct value_form msgpack_form = {
    .look = look, .find = find, .element = element, .next = next
};

static enum status decode(const void *bytes, size_t length, struct msgpack_tree *out_tree,
                          struct fault *fault)
{
    enum status status = msgpack_check_form(bytes, length, fault);
    size_t offset = 0;

    if (status != STATUS_OK)
        return status;
    msgpack_unpacked_init(&out_tree->unpacked);
    if (msgpack_unpack_next(&out_tree->unpacked, bytes, length, &offset) == MSGPACK_UNPACK_SUCCESS)
        return STATUS_OK;
    msgpack_unpacked_destroy(&out_tree->unpacked);
    return fault_set(fault, STATUS_NO_RESOURCE, "/: no memory for %zu bytes of msgpack", length);
}

enum status msgpack_tree_new(const void *bytes, size_t length, struct msgpack_tree **out_tree,
                             struct fault *fault)
{
    struct msgpack_tree tree;
    enum status status = decode(bytes, length, &tree, fault);

    if (status != STATUS_OK)
        return status;
    *out_tree = memory_new(1, sizeof tree);
    **out_tree = tree;
    return STATUS_OK;
}

void msgpack_tree_free(struct msgpack_tree *tree)
{
    if (tree == NULL)
        return;
    msgpack_unpacked_destroy(&tree->unpacked);
    free(tree);
}

enum status record_from_msgpack_tree(const struct record *record, struct msgpack_tree *tree,
                                     void *out_object, struct fault *fault)
{
    enum status status;

    record_init(record, out_object);
    status = value_read(&msgpack_form, record, &tree->unpacked.data, out_object, fault);
    if (status != STATUS_OK)
        record_done(record, out_object);
    return status;
}

enum status record_from_msgpack(const struct record *record, const void *bytes, size_t length,
                                void *out_object, struct fault *fault)
{
    struct msgpack_tree tree;
    enum status status = decode(bytes, length, &tree, fault);

    if (status != STATUS_OK) {
        record_init(record, out_object);
        return status;
    }
    status = record_from_msgpack_tree(record, &tree, out_object, fault);
    msgpack_unpacked_destroy(&tree.unpacked);
    return status;
}
