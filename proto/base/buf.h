/* Bytes that grow up to a named cap; the first failure sticks.
 *
 * Whatever a peer, a file or a user sizes is collected here. Appends after a failure do nothing,
 * so a writer checks once, at the end, with buf_status.
 */
#ifndef SONDE_BASE_BUF_H
#define SONDE_BASE_BUF_H

#include <stddef.h>

#include "proto/base/status.h"

struct buf {
    char *data; /* `length` bytes and a terminating zero; NULL while empty */
    size_t length;
    size_t capacity;
    size_t cap;
    enum status status;
};

/* An empty buffer of at most `cap` bytes (the terminating zero not counted). */
void buf_init(struct buf *buf, size_t cap);

/* Frees what it holds; it can be used again as an empty buffer of the same cap. */
void buf_done(struct buf *buf);

/* Appends; over the cap the buffer keeps what it had and its status becomes STATUS_TOO_LARGE. */
void buf_append(struct buf *buf, const void *bytes, size_t length);
void buf_text(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) printf_like(2, 3);

enum status buf_status(const struct buf *buf) must_check;

/* The text, "" while empty; borrowed until the next call on `buf`. */
const char *buf_peek(const struct buf *buf);

#endif
