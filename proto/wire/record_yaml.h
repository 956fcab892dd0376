/* Records as YAML: configuration files. libyaml is used in record_from_yaml.c only. */
#ifndef SONDE_WIRE_RECORD_YAML_H
#define SONDE_WIRE_RECORD_YAML_H

#include "proto/base/buf.h"
#include "proto/wire/record.h"

/* Fills *object, which holds the defaults (record_init, then the caller's own), from one YAML
 * document: a mapping with the table's names as keys; a key that is missing leaves its default, an
 * empty document leaves all. A list that is given replaces its default; in its elements, and in a
 * record that was null, every key must be there that is not FIELD_OPTIONAL. Scalars: true and
 * false; decimal integers, also with "_" between digits; decimals with "."; text plain or quoted;
 * null and ~ where the field is FIELD_NULLABLE. Refused: unknown keys (with the nearest known
 * name), duplicate keys, aliases and anchors, tags, a second document, wrong types and ranges,
 * nesting over LIMIT_MESSAGE_DEPTH, mappings of more than LIMIT_MAP_ENTRIES, more than
 * LIMIT_CONFIG_BYTES. The fault starts with `path` and the line: "agent.yaml:12:
 * admission.max_rate: ...". On failure *object is as record_init leaves it. */
struct yaml_text {
    const char *path; /* for the fault */
    const char *text;
    size_t length;
};
enum status record_from_yaml(const struct record *record, const struct yaml_text *text,
                             void *object, struct fault *fault) must_check;

/* The same from a file of at most LIMIT_CONFIG_BYTES. */
enum status record_from_yaml_file(const struct record *record, const char *path, void *object,
                                  struct fault *fault) must_check;

/* Appends every key of the object with its value, each below its help as a comment: the example
 * files in deploy/ are this with the defaults. Reading it back gives the same object (reals to 15
 * digits). The object must pass record_check; one that does not is a bug and aborts. */
enum status record_to_yaml(const struct record *record, const void *object,
                           struct buf *out_text) must_check;

#endif
