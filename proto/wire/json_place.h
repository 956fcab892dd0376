/* What a JSON parser does not say: where, as a JSON pointer, a text went wrong; and the checks of
 * form that come before parsing. Pure scanning of bytes, no values. */
#ifndef SONDE_WIRE_JSON_PLACE_H
#define SONDE_WIRE_JSON_PLACE_H

#include <stddef.h>

#include "proto/base/status.h"

/* Refuses what is no JSON text of ours before it is parsed: no bytes, a byte order mark, zero
 * bytes, text before the first '{', nesting over LIMIT_JSON_DEPTH, more than LIMIT_JSON_VALUES
 * values. The fault begins with a place. */
enum status json_check_form(const char *text, size_t length, struct fault *fault) must_check;

/* STATUS_INVALID with a fault that says `what` with the JSON pointer, line and byte of where a
 * parser stopped. `position` counts the bytes up to and with what it refused: a token, one byte,
 * or one more than `length` when it missed something at the end. The pointer is that of the value
 * that stands or is due there. Inside a key, and where a key is due, it is the object's; keys show
 * their escapes as they stand in the text. */
enum status json_fault_at(const char *text, size_t length, size_t position, const char *what,
                          struct fault *fault) must_check;

#endif
