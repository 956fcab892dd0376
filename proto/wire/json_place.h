/* What a JSON parser does not say: where, as a JSON pointer, a text went wrong; and the checks of
 * form that come before parsing. Pure scanning of bytes, no values. */
#ifndef SONDE_WIRE_JSON_PLACE_H
#define SONDE_WIRE_JSON_PLACE_H

#include <stddef.h>

#include "proto/base/status.h"

/* Refuses what is no JSON text of ours before it is parsed: no bytes, a byte order mark, zero
 * bytes, text before the first '{', nesting over LIMIT_JSON_DEPTH. */
enum status json_check_form(const char *text, size_t length, struct fault *fault) must_check;

/* STATUS_INVALID with a fault that says `what` with the JSON pointer and line of byte `position`.
 */
enum status json_fault_at(const char *text, size_t length, size_t position, const char *what,
                          struct fault *fault) must_check;

#endif
