/* Owns the way from JSON to msgpack without a table. */
#include "tests/proto/wire/pack_json.h"

#include <assert.h>
#include <jansson.h>
#include <msgpack.h>
#include <string.h>

static int append(void *context, const char *bytes, size_t length)
{
    buf_append(context, bytes, length);
    return 0;
}

static void pack_text(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str(packer, strlen(text));
    msgpack_pack_str_body(packer, text, strlen(text));
}

static void pack(msgpack_packer *packer, json_t *json)
{
    const char *key;
    json_t *value;
    size_t index;

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        msgpack_pack_map(packer, json_object_size(json));
        json_object_foreach(json, key, value)
        {
            pack_text(packer, key);
            pack(packer, value);
        }
        return;
    case JSON_ARRAY:
        msgpack_pack_array(packer, json_array_size(json));
        json_array_foreach(json, index, value) pack(packer, value);
        return;
    case JSON_STRING:
        pack_text(packer, json_string_value(json));
        return;
    case JSON_INTEGER:
        msgpack_pack_int64(packer, json_integer_value(json));
        return;
    case JSON_REAL:
        msgpack_pack_double(packer, json_real_value(json));
        return;
    case JSON_TRUE:
        msgpack_pack_true(packer);
        return;
    case JSON_FALSE:
        msgpack_pack_false(packer);
        return;
    case JSON_NULL:
        msgpack_pack_nil(packer);
        return;
    }
}

void pack_json(const char *text, struct buf *out_bytes)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    msgpack_packer packer;

    assert(json != NULL);
    msgpack_packer_init(&packer, out_bytes, append);
    pack(&packer, json);
    json_decref(json);
}
