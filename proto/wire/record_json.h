/* Records as JSON and back. jansson is used in record_*json.c and record_schema.c only. */
#ifndef SONDE_WIRE_RECORD_JSON_H
#define SONDE_WIRE_RECORD_JSON_H

#include "proto/base/buf.h"
#include "proto/wire/record.h"

/* Appends the object as one line of JSON in the table's order. The object must pass
 * record_check; one that does not is a bug and aborts. STATUS_TOO_LARGE when the buffer is full. */
enum status record_to_json(const struct record *record, const void *object,
                           struct buf *out_text) must_check;

/* Reads one JSON object, UTF-8 without a byte order mark, and nothing behind it. Refuses
 * duplicate keys, nesting over LIMIT_JSON_DEPTH, numbers that are not finite or beyond 64 bits,
 * wrong types, values outside the ranges, missing keys; ignores unknown ones. On failure the
 * fault says what is wrong and where as a JSON pointer ("/cases/3/window: ..."), and *out_object is
 * as record_init leaves it; on success the caller owns what it holds (record_done). */
enum status record_from_json(const struct record *record, const char *text, size_t length,
                             void *out_object, struct fault *fault) must_check;

/* The JSON Schema (draft 2020-12) of a record, indented, for docs/ and validators. */
enum status record_schema(const struct record *record, const char *title,
                          struct buf *out_text) must_check;

/* Name and version of the library behind it, e.g. "2.14". */
const char *record_json_library(void);

#endif
