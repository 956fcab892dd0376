/* One message of any type, filled, written and read. */
#ifndef SONDE_TESTS_MESSAGE_STAND_H
#define SONDE_TESTS_MESSAGE_STAND_H

#include "proto/wire/message.h"
#include "tests/proto/wire/fill.h"

enum { MESSAGE_ROOM = 8 << 20 };

/* Who sends it to whom; an agent and a controller when either may. */
struct message_way message_way_of(enum message_type type);

/* The caller's (message_done). */
void fill_message(struct filler *filler, enum message_type type, union message *out_message);

/* The caller's (buf_done). */
void put_message(const union message *message, struct buf *out_bytes);

/* message_get, in a block of exactly their size, so that the sanitizers see a byte too far. */
enum status get_message(const void *bytes, size_t length, struct message_way way,
                        union message *out_message, struct fault *fault);

/* It is refused with this status and these words. */
void refuses_message(const struct buf *bytes, struct message_way way, enum status status,
                     const char *expected);

#endif
