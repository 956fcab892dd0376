/* Where in a JSON text something stands: a JSON pointer (RFC 6901) that grows and shrinks. */
#ifndef SONDE_WIRE_PLACE_H
#define SONDE_WIRE_PLACE_H

#include <stddef.h>

enum { PLACE_TEXT_SIZE = 384 };

/* Starts as "", the whole document: initialise with {0}. */
struct place {
    char text[PLACE_TEXT_SIZE];
    size_t length;
};

/* Goes into a key ('~' and '/' escaped) or an element; returns the length to go back to. A pointer
 * that would not fit is cut. */
size_t place_enter(struct place *place, const char *key);
size_t place_enter_index(struct place *place, size_t index);

/* Goes back to where place_enter was called. */
void place_leave(struct place *place, size_t length);

/* The pointer, "/" for the whole document so that an error line always shows a place. */
const char *place_text(const struct place *place);

#endif
