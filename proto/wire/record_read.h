/* Private part of records: the one way from any text or byte form into a struct. What JSON, msgpack
 * and YAML have in common (types, ranges, keys, places, the words of a refusal) is said here; what
 * sets them apart is a table of functions. Included by record_from_*.c and what is behind it.
 */
#ifndef SONDE_WIRE_RECORD_READ_H
#define SONDE_WIRE_RECORD_READ_H

#include "proto/wire/place.h"
#include "proto/wire/record.h"

enum { VALUE_WHERE_SIZE = PLACE_TEXT_SIZE + 32 };

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_LIST,
    VALUE_OBJECT,
};

/* What somebody wrote, before a table says what it should be. */
struct value {
    enum value_kind kind;
    bool truth;
    int64_t integer;
    double real;       /* finite */
    const char *bytes; /* TEXT (UTF-8 without a zero byte) and BYTES: `length`, not terminated */
    size_t length;     /* or the elements of a LIST, the entries of an OBJECT */
    void *node;        /* where it stands in its form's tree */
    size_t next;       /* OBJECT: for `find`, where the next key is likely to stand */
};

/* An entry of an object; all zero before the first. `iterator` and `index` are for the form. */
struct value_entry {
    const char *key; /* `length` bytes, not terminated */
    size_t length;
    void *node;
    void *iterator;
    size_t index;
};

/* A form: a tree of nodes that its parser made and checked. Borrowed while something is read. */
struct value_form {
    /* What stands at a node, node and all. Where a form's scalars have no type of their own,
     * `wanted` decides. */
    void (*look)(void *node, enum field_type wanted, struct value *out_value);
    /* The node of this key, NULL when the object has none. */
    void *(*find)(struct value *object, const char *key);
    /* The node of an element, index < length. */
    void *(*element)(const struct value *list, size_t index);
    /* Goes to the next entry; false behind the last. */
    bool (*next)(const struct value *object, struct value_entry *entry);
    /* Where a fault at a node is; NULL: the place as a JSON pointer. */
    void (*where)(void *node, const struct place *place, char out_text[VALUE_WHERE_SIZE]);
    /* A person wrote it: unknown keys are refused, and a missing one leaves what the object holds
     * (but not in an element of a list or in a record that was null: nobody has given them
     * defaults). */
    bool by_hand;
};

/* Reads the object at `node` into *object, which is as record_init leaves it or, by hand, holds the
 * defaults. On failure the caller frees what is in it (record_done). */
enum status value_read(const struct value_form *form, const struct record *record, void *node,
                       void *object, struct fault *fault) must_check;

#endif
