/* Owns the form of a message: a walk over its bytes in one pass, before a parser may believe a
 * count or a length that stands there. Knows no record and no msgpack library. */
#include "proto/wire/record_msgpack.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/octets.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/place.h"

/* Up to this many keys of a map are compared each with each; more are sorted first. */
enum { FEW_KEYS = 16, KEYS_AT_HAND = 64 };

enum kind { NUMBER, FLOAT, TEXT, BYTES, LIST, MAP, EXTENSION, RESERVED };

/* A value's first byte and the length that follows it. */
struct head {
    enum kind kind;
    uint8_t first;
    size_t count; /* bytes behind it, elements or entries */
};

struct key {
    const uint8_t *bytes;
    size_t length;
};

struct level {
    bool map;
    bool key_next;    /* a map that waits for a key */
    size_t left;      /* elements or entries */
    size_t index;     /* of the element or entry that is walked */
    size_t first_key; /* of a map, in walk.keys */
};

struct walk {
    const uint8_t *at, *end;
    struct level levels[LIMIT_MESSAGE_DEPTH];
    size_t depth;
    /* The keys of all maps that are open, outermost first; on the heap once there are many. */
    struct key *keys;
    size_t key_count, key_capacity;
    struct key at_hand[KEYS_AT_HAND];
    struct fault *fault;
};

static size_t left_of(const struct walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

/* The pointer of where the walk stands: a value, or the map that waits for a key. */
static struct place place_of(const struct walk *walk)
{
    struct place place = { 0 };

    for (size_t i = 0; i < walk->depth && !walk->levels[i].key_next; i++) {
        const struct level *level = &walk->levels[i];
        char text[PLACE_TEXT_SIZE];
        const struct key *key;
        size_t kept;

        if (!level->map) {
            place_enter_index(&place, level->index);
            continue;
        }
        key = &walk->keys[level->first_key + level->index];
        kept = key->length < sizeof text ? key->length : sizeof text - 1;
        memcpy(text, key->bytes, kept);
        text[kept] = '\0';
        place_enter(&place, text);
    }
    return place;
}

static enum status refuse(const struct walk *walk, enum status status, const char *what)
{
    struct place place = place_of(walk);

    return fault_set(walk->fault, status, "%s: %s", place_text(&place), what);
}

static enum status refuse_short(const struct walk *walk, size_t needed)
{
    struct place place = place_of(walk);

    return fault_set(walk->fault, STATUS_INVALID,
                     "%s: at least %zu bytes must follow, %zu are there", place_text(&place),
                     needed, left_of(walk));
}

/* The bytes 0xc0 to 0xdf: what begins there, and how wide its value or its length is. */
static const struct {
    uint8_t kind, width;
} heads[32] = {
    { NUMBER, 0 },    { RESERVED, 0 },  { NUMBER, 0 },    { NUMBER, 0 },    { BYTES, 1 },
    { BYTES, 2 },     { BYTES, 4 },     { EXTENSION, 0 }, { EXTENSION, 0 }, { EXTENSION, 0 },
    { FLOAT, 4 },     { FLOAT, 8 },     { NUMBER, 1 },    { NUMBER, 2 },    { NUMBER, 4 },
    { NUMBER, 8 },    { NUMBER, 1 },    { NUMBER, 2 },    { NUMBER, 4 },    { NUMBER, 8 },
    { EXTENSION, 0 }, { EXTENSION, 0 }, { EXTENSION, 0 }, { EXTENSION, 0 }, { EXTENSION, 0 },
    { TEXT, 1 },      { TEXT, 2 },      { TEXT, 4 },      { LIST, 2 },      { LIST, 4 },
    { MAP, 2 },       { MAP, 4 },
};

static size_t length_at(const uint8_t *at, size_t width)
{
    return width == 1 ? *at : width == 2 ? octets_get16(at) : octets_get32(at);
}

/* Passes the first byte and the length; a number's bytes are left for who checks them. */
static enum status pass_head(struct walk *walk, struct head *out_head)
{
    uint8_t first;
    size_t width;
    enum kind kind;

    if (walk->at == walk->end)
        return refuse_short(walk, 1);
    first = *walk->at;
    if (first < 0x80 || first >= 0xe0) {
        *out_head = (struct head){ NUMBER, first, 0 };
    } else if (first < 0xc0) {
        kind = first < 0x90 ? MAP : first < 0xa0 ? LIST : TEXT;
        *out_head = (struct head){ kind, first, first & (kind == TEXT ? 0x1f : 0x0f) };
    } else {
        kind = (enum kind)heads[first - 0xc0].kind;
        width = heads[first - 0xc0].width;
        if (left_of(walk) - 1 < width)
            return refuse_short(walk, 1 + width);
        *out_head = (struct head){ kind, first, width };
        if (kind != NUMBER && kind != FLOAT && width > 0) {
            out_head->count = length_at(walk->at + 1, width);
            walk->at += width;
        }
    }
    walk->at++;
    return STATUS_OK;
}

static struct level *top(struct walk *walk)
{
    return walk->depth == 0 ? NULL : &walk->levels[walk->depth - 1];
}

static enum status open_level(struct walk *walk, const struct head *head)
{
    bool map = head->kind == MAP;
    struct place place;

    if (walk->depth == LIMIT_MESSAGE_DEPTH) {
        place = place_of(walk);
        return fault_set(walk->fault, STATUS_TOO_LARGE, "%s: nested deeper than %d levels",
                         place_text(&place), LIMIT_MESSAGE_DEPTH);
    }
    if (map && head->count > LIMIT_MAP_ENTRIES) {
        place = place_of(walk);
        return fault_set(walk->fault, STATUS_TOO_LARGE, "%s: %zu entries, at most %d are allowed",
                         place_text(&place), head->count, LIMIT_MAP_ENTRIES);
    }
    /* Each takes a byte at least, and an entry two. */
    if (head->count > left_of(walk) / (map ? 2 : 1))
        return refuse_short(walk, head->count * (map ? 2 : 1));
    walk->levels[walk->depth++] = (struct level){
        .map = map,
        .key_next = map,
        .left = head->count,
        .first_key = walk->key_count,
    };
    return STATUS_OK;
}

static enum status check_text(const struct walk *walk, size_t length)
{
    if (!utf8_is_valid((const char *)walk->at, length))
        return refuse(walk, STATUS_INVALID, "text that is no UTF-8");
    if (memchr(walk->at, '\0', length) != NULL)
        return refuse(walk, STATUS_INVALID, "text with a zero byte");
    return STATUS_OK;
}

/* All bits of the exponent: NaN or infinity. */
static enum status check_float(const struct walk *walk, size_t width)
{
    bool finite = width == 4 ? (octets_get32(walk->at) & 0x7f800000U) != 0x7f800000U
                             : (octets_get16(walk->at) & 0x7ff0U) != 0x7ff0U;

    return finite ? STATUS_OK : refuse(walk, STATUS_INVALID, "not a finite number");
}

/* What a uint 64 says above INT64_MAX has no place in any record. */
static enum status check_number(const struct walk *walk, const struct head *head)
{
    if (head->first == 0xcf && *walk->at >= 0x80)
        return refuse(walk, STATUS_RANGE, "an integer above 9223372036854775807");
    return STATUS_OK;
}

static enum status pass_bytes(struct walk *walk, const struct head *head)
{
    enum status status = STATUS_OK;

    if (head->count > left_of(walk))
        return refuse_short(walk, head->count);
    if (head->kind == TEXT)
        status = check_text(walk, head->count);
    else if (head->kind == FLOAT)
        status = check_float(walk, head->count);
    else if (head->kind == NUMBER)
        status = check_number(walk, head);
    walk->at += head->count;
    return status;
}

static void keep_key(struct walk *walk, struct key key)
{
    struct key *more;

    if (walk->key_count == walk->key_capacity) {
        more = memory_new(walk->key_capacity * 2, sizeof *more);
        memcpy(more, walk->keys, walk->key_count * sizeof *more);
        if (walk->keys != walk->at_hand)
            free(walk->keys);
        walk->keys = more;
        walk->key_capacity *= 2;
    }
    walk->keys[walk->key_count++] = key;
}

static enum status pass_key(struct walk *walk, const struct head *head)
{
    struct level *level = top(walk);
    const uint8_t *bytes = walk->at;
    enum status status;

    if (head->kind != TEXT)
        return refuse(walk, STATUS_INVALID, "a key that is no text");
    status = pass_bytes(walk, head);
    if (status != STATUS_OK)
        return status;
    keep_key(walk, (struct key){ bytes, head->count });
    level->key_next = false;
    return STATUS_OK;
}

static void value_passed(struct walk *walk)
{
    struct level *level = top(walk);

    if (level == NULL)
        return;
    level->left--;
    level->index++;
    level->key_next = level->map;
}

static enum status pass_one(struct walk *walk)
{
    struct level *level = top(walk);
    struct head head = { NUMBER, 0, 0 };
    enum status status = pass_head(walk, &head);

    if (status != STATUS_OK)
        return status;
    if (level == NULL && head.kind != MAP)
        return refuse(walk, STATUS_INVALID, "not a map");
    if (level != NULL && level->key_next)
        return pass_key(walk, &head);
    if (head.kind == RESERVED)
        return refuse(walk, STATUS_INVALID, "the reserved byte 0xc1");
    if (head.kind == EXTENSION)
        return refuse(walk, STATUS_INVALID, "an extension type");
    if (head.kind == LIST || head.kind == MAP)
        return open_level(walk, &head);
    status = pass_bytes(walk, &head);
    if (status == STATUS_OK)
        value_passed(walk);
    return status;
}

/* By length first: most differ there. */
static int order(const void *a, const void *b)
{
    const struct key *left = a, *right = b;

    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return memcmp(left->bytes, right->bytes, left->length);
}

/* The keys of the innermost map are at the end and are not needed in order any more. */
static const struct key *find_twice(struct key *keys, size_t count)
{
    bool sorted = count > FEW_KEYS;

    if (sorted)
        qsort(keys, count, sizeof *keys, order);
    for (size_t i = 1; i < count; i++) {
        for (size_t j = sorted ? i - 1 : 0; j < i; j++) {
            if (order(&keys[i], &keys[j]) == 0)
                return &keys[i];
        }
    }
    return NULL;
}

static enum status close_map(struct walk *walk, struct level *level)
{
    struct key *keys = walk->keys + level->first_key;
    const struct key *twice = find_twice(keys, walk->key_count - level->first_key);

    if (twice != NULL) {
        keys[0] = *twice;
        level->index = 0;
        level->key_next = false;
        return refuse(walk, STATUS_INVALID, "is there twice");
    }
    walk->key_count = level->first_key;
    return STATUS_OK;
}

/* Leaves every level of which nothing is left. */
static enum status close_levels(struct walk *walk)
{
    while (walk->depth > 0 && top(walk)->left == 0) {
        enum status status = top(walk)->map ? close_map(walk, top(walk)) : STATUS_OK;

        if (status != STATUS_OK)
            return status;
        walk->depth--;
        value_passed(walk);
    }
    return STATUS_OK;
}

enum status msgpack_check_form(const void *bytes, size_t length, struct fault *fault)
{
    static const uint8_t nothing[1];
    struct walk walk;
    enum status status;

    walk.at = length > 0 ? bytes : nothing; /* no bytes may stand nowhere: NULL */
    walk.end = walk.at + length;
    walk.depth = 0;
    walk.keys = walk.at_hand;
    walk.key_count = 0;
    walk.key_capacity = KEYS_AT_HAND;
    walk.fault = fault;
    do {
        status = pass_one(&walk);
        if (status == STATUS_OK)
            status = close_levels(&walk);
    } while (status == STATUS_OK && walk.depth > 0);
    if (walk.keys != walk.at_hand)
        free(walk.keys);
    if (status == STATUS_OK && walk.at != walk.end)
        return fault_set(fault, STATUS_INVALID, "/: %zu bytes behind the message", left_of(&walk));
    return status;
}
