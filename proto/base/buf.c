/* Owns bytes that grow up to a cap. Must not know what they mean. A cap that is reached is the
 * caller's affair and sticks; memory that runs out below the cap aborts. */
#include "proto/base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

void buf_init(struct buf *buf, size_t cap)
{
    assert(cap < SIZE_MAX / 2);
    *buf = (struct buf){ .cap = cap, .status = STATUS_OK };
}

void buf_done(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->cap);
}

/* Makes room for `more` bytes and the zero behind them; false when the buffer has failed. */
static bool reserve(struct buf *buf, size_t more)
{
    size_t capacity = buf->capacity != 0 ? buf->capacity : FIRST_CAPACITY;
    char *data;

    if (buf->status != STATUS_OK)
        return false;
    if (more > buf->cap - buf->length) {
        buf->status = STATUS_TOO_LARGE;
        return false;
    }
    while (capacity < buf->length + more + 1)
        capacity *= 2;
    if (capacity > buf->cap + 1)
        capacity = buf->cap + 1;
    if (capacity == buf->capacity)
        return true;
    data = realloc(buf->data, capacity);
    if (data == NULL)
        abort();
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void buf_append(struct buf *buf, const void *bytes, size_t length)
{
    if (length == 0 || !reserve(buf, length))
        return;
    memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    if (length == 0 || !reserve(buf, (size_t)length))
        return;
    va_start(args, format);
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

enum status buf_status(const struct buf *buf)
{
    return buf->status;
}

const char *buf_peek(const struct buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}
