/* Records as msgpack and back: what travels on the control channel. msgpack-c is used in
 * record_*msgpack.c only.
 *
 * An object is a map with the table's names as keys, in the table's order; absent values are nil.
 * FIELD_BYTES is bin, FIELD_TEXT is str, FIELD_REAL is float 64 (an integer or a float 32 is
 * accepted too).
 */
#ifndef SONDE_WIRE_RECORD_MSGPACK_H
#define SONDE_WIRE_RECORD_MSGPACK_H

#include "proto/base/buf.h"
#include "proto/wire/record.h"

/* Appends the object. It must pass record_check; one that does not is a bug and aborts.
 * STATUS_TOO_LARGE when the buffer is full. */
enum status record_to_msgpack(const struct record *record, const void *object,
                              struct buf *out_bytes) must_check;

/* Reads one map and nothing behind it. Before msgpack-c sees a byte, the bytes are walked: counts
 * beyond what is there, maps of more than LIMIT_MAP_ENTRIES, nesting over LIMIT_MESSAGE_DEPTH, keys
 * that are no strings or stand twice in a map, strings that are no UTF-8 or hold a zero byte,
 * integers above INT64_MAX, ext types, NaN and infinity, reserved bytes and trailing bytes are
 * refused; so nothing is allocated by a declared size (facts: an array header of 5 bytes
 * costs msgpack-c gigabytes). Wrong types, values outside the ranges and missing keys are refused,
 * unknown keys ignored. The fault says what and where ("/params/window: ..."). On failure
 * *out_object is as record_init leaves it; on success the caller owns what it holds
 * (record_done). */
enum status record_from_msgpack(const struct record *record, const void *bytes, size_t length,
                                void *out_object, struct fault *fault) must_check;

/* The form alone, as above. */
enum status msgpack_check_form(const void *bytes, size_t length, struct fault *fault) must_check;

/* The same in two steps, for bytes that more than one table reads: they are walked and decoded
 * once. The tree borrows the bytes until it is freed (NULL is allowed). */
struct msgpack_tree;
enum status msgpack_tree_new(const void *bytes, size_t length, struct msgpack_tree **out_tree,
                             struct fault *fault) must_check;
void msgpack_tree_free(struct msgpack_tree *tree);
enum status record_from_msgpack_tree(const struct record *record, struct msgpack_tree *tree,
                                     void *out_object, struct fault *fault) must_check;

/* The version of the library behind it, e.g. "4.0.0". */
const char *record_msgpack_library(void);

#endif
