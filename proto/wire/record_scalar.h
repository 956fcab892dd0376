/* Private part of records: scalars and refusals, for record_read.c alone. */
#ifndef SONDE_WIRE_RECORD_SCALAR_H
#define SONDE_WIRE_RECORD_SCALAR_H

#include "proto/wire/record_read.h"

struct reader {
    const struct value_form *form;
    struct place place;
    bool defaults; /* a missing key leaves what is there */
    struct fault *fault;
};

/* "an object", "text" */
const char *value_kind_name(enum value_kind kind);

/* Says what is wrong with `value` at the reader's place. Returns `status`. */
enum status reader_fault(struct reader *reader, const struct value *value, enum status status,
                         const char *format, ...) printf_like(4, 5);

/* "... is not allowed: <what the field accepts as this type>"; STATUS_RANGE when the type is right,
 * else STATUS_INVALID. */
enum status reader_refuse(struct reader *reader, const struct field *field, enum field_type type,
                          const struct value *value);

/* Null, and the field may be. */
bool value_is_null(const struct field *field, const struct value *value);

/* An integer or a real as a real; false when it is neither. */
bool value_number(const struct value *value, double *out_number);

/* BOOL, INT, REAL, TEXT, ENUM, WORD and BYTES. */
enum status read_scalar(struct reader *reader, const struct field *field, enum field_type type,
                        const struct value *value, void *at) must_check;

/* The numbers of NAMED and MAP_INT. */
enum status read_count_or_null(struct reader *reader, int64_t min, const struct value *value,
                               int64_t *out_value) must_check;

/* The texts of MAP_TEXT, into `size` bytes. */
enum status read_map_text(struct reader *reader, const struct value *value, char *out_text,
                          size_t size) must_check;

#endif
