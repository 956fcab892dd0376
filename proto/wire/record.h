/* A struct described once.
 *
 * One table per struct says each field's name, type, range and meaning; from it come the JSON,
 * msgpack and YAML forms (record_json.h, record_msgpack.h, record_yaml.h), the JSON Schema, the
 * pages of the protocol, command-line flags (controller/command) and every error text. So a field's
 * name is written once, at its struct.
 *
 * Absent values: an integer is NONE_INT, a real is NAN, a text is "", a record's `present` member
 * is false; each is null outside and allowed only where the field is FIELD_NULLABLE.
 */
#ifndef SONDE_WIRE_RECORD_H
#define SONDE_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/status.h"

#define NONE_INT  INT64_MIN
#define COUNT_MAX INT64_MAX

enum field_type {
    FIELD_BOOL,     /* bool */
    FIELD_INT,      /* int64_t in min..max */
    FIELD_REAL,     /* double in real_min..real_max; whole numbers are written without a point */
    FIELD_TEXT,     /* char[size], UTF-8, terminated */
    FIELD_ENUM,     /* an enum (as wide as int) with a name for each value from 0 */
    FIELD_RECORD,   /* another struct, as an object */
    FIELD_INLINE,   /* another struct, its fields standing in this object */
    FIELD_NAMED,    /* int64_t[name_count], each from `min` up or null, as an object with the names;
                       unknown names are ignored, missing ones become NONE_INT */
    FIELD_PAIR,     /* int64_t[2], each from `min` up, as [a, b]; only as element of a list */
    FIELD_POINT,    /* double[2], finite, as [x, y]; only as element of a list */
    FIELD_WORD,     /* char *, owned; only as element of a list */
    FIELD_LIST,     /* struct list of up to `size` elements of type `of` */
    FIELD_MAP_INT,  /* struct list of struct map_item, as {key: number|null} */
    FIELD_MAP_TEXT, /* struct list of struct map_item, as {key: text} */
    FIELD_BYTES,    /* struct bytes, `min` to `size` long; only in messages, it has no JSON form */
};

enum {
    FIELD_NULLABLE = 1, /* null is allowed */
    FIELD_OPTIONAL = 2, /* the key may be missing; it then counts as null, false, 0 or empty */
};

struct record;

struct field {
    const char *name;
    const char *help; /* what it is, with its unit, in one line */
    enum field_type type;
    enum field_type of; /* of a list's elements */
    unsigned flags;
    int when_value; /* see `when` */
    size_t offset;
    size_t size;
    int64_t min, max;
    double real_min, real_max;
    const struct record *record; /* RECORD, INLINE, lists of records */
    const char *const *names;    /* ENUM and NAMED, and lists of them: `name_count` names */
    size_t name_count;
    /* INLINE: the fields stand here only while the enum at offset when - 1 of this object, whose
     * field comes before, is when_value. 0: always. So an object can be one of several. */
    size_t when;
};

struct record {
    const char *name;
    size_t size; /* of the struct */
    const struct field *fields;
    size_t count;
    size_t present; /* offset of its `bool present` plus 1; 0 when it cannot be null */
};

/* Owned array of `count` elements; NULL while empty. Only list_append and map_add make it longer:
 * they know its capacity from its count. */
struct list {
    void *items;
    size_t count;
};

/* Owned bytes; NULL while empty. */
struct bytes {
    uint8_t *data;
    size_t length;
};

enum { MAP_KEY_SIZE = 64, MAP_TEXT_SIZE = 256 };

struct map_item {
    char key[MAP_KEY_SIZE];
    char text[MAP_TEXT_SIZE]; /* of a FIELD_MAP_TEXT */
    int64_t number;           /* of a FIELD_MAP_INT; NONE_INT is null */
};

/* Table entries. S is the struct, M its member; the field's name is the member's. */
#define FIELD_AT(S, M)          .name = #M, .offset = offsetof(S, M)
#define FIELD_NAMED_AT(S, M, N) .name = N, .offset = offsetof(S, M)
#define RECORD_COUNT(fields)    (sizeof(fields) / sizeof((fields)[0]))

/* All fields absent, zero or empty: every integer NONE_INT where nullable, else 0, and so on. */
void record_init(const struct record *record, void *out_object);

/* Frees what lists hold and makes the object as record_init does. NULL is allowed. */
void record_done(const struct record *record, void *object);

/* Frees what this field of the object holds, and empties a list or bytes. */
void field_done(const struct field *field, void *object);

/* Checks every range, length, enum and text (UTF-8) of a struct that this program filled or read:
 * what passes can be written and read again. The fault names the place as a JSON pointer and says
 * what is allowed. */
enum status record_check(const struct record *record, const void *object,
                         struct fault *fault) must_check;

/* The field of this name, also inside inline records (then *out_base is that record's offset in
 * the object, else 0; may be NULL). NULL when there is none. */
const struct field *record_field(const struct record *record, const char *name, size_t *out_base);

/* "an integer from 1 to 65536", "one of shared, split": what a field accepts, for error texts. */
void field_allowed(const struct field *field, char *out_text, size_t size);

/* The same for a value of `type`, e.g. one element of a list. */
void field_allowed_as(const struct field *field, enum field_type type, char *out_text, size_t size);

/* True when an inline record's fields stand in this object (field.when). */
bool field_applies(const struct field *field, const void *object);

/* False when a record that can be null is null. record_set_present(false) needs one that can. */
bool record_is_present(const struct record *record, const void *object);
void record_set_present(const struct record *record, void *object, bool present);

/* The bytes that one element of a list field takes. */
size_t field_element_size(const struct field *field);

/* Appends one zeroed element of the list field's element size; returns it, or NULL when the list
 * is at the field's cap. Aborts when memory is out. */
void *list_append(struct list *list, const struct field *field);
void *list_append_sized(struct list *list, size_t element_size);

/* Makes `bytes` hold a copy; aborts when memory is out. */
void bytes_set(struct bytes *bytes, const void *data, size_t length);
void bytes_done(struct bytes *bytes);

/* Appends to a map; a longer key or text is cut. The caller sees to it that no key is there twice
 * (record_check refuses that). */
void map_add_int(struct list *map, const char *key, int64_t number);
void map_add_text(struct list *map, const char *key, const char *text);

/* Lists of char *: appends a copy (aborts when memory is out); looks one up; frees all. */
void words_add(struct list *words, const char *word);
bool words_have(const struct list *words, const char *word);
void words_done(struct list *words);

/* True when two maps of numbers have the same entries, in any order. */
bool map_equal_int(const struct list *a, const struct list *b);

/* The entry of this key or NULL. */
const struct map_item *map_find(const struct list *map, const char *key);

#endif
