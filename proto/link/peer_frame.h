/* How frames look. A part of peer. Pure. */
#ifndef SONDE_LINK_PEER_FRAME_H
#define SONDE_LINK_PEER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/message.h"

enum { FRAME_HEADER_SIZE = 4 };

enum frame_look {
    FRAME_PART,  /* more must come */
    FRAME_WHOLE, /* a header and `length` bytes behind it */
    FRAME_WRONG  /* a header whose `length` is not allowed */
};

/* What `there` bytes begin with. `out_length` is written unless it is FRAME_PART. */
enum frame_look frame_look(const uint8_t *bytes, size_t there, uint32_t *out_length);

/* Whether a frame's message is of this type, without reading it: a map whose first key is `type`,
 * both as short strings. */
bool frame_is(const uint8_t *bytes, size_t length, enum message_type type);

/* Appends a ping's, a bye's message; a reason that is too long is cut. */
void frame_put_ping(struct buf *out_bytes);
void frame_put_bye(struct buf *out_bytes, const char *reason);

#endif
