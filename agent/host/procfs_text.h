/* Lines, words and numbers of the files under /proc, for procfs_*.c alone. Pure.
 *
 * A span is borrowed bytes, not terminated; nothing here reads outside of one, and a zero byte is a
 * byte like any other.
 */
#ifndef SONDE_HOST_PROCFS_TEXT_H
#define SONDE_HOST_PROCFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *at;
    size_t length;
};

/* Cuts the next line off `rest`, without its end; false when nothing is left. */
bool span_line(struct span *rest, struct span *out_line);

/* Cuts the next word (bytes that are no blanks) off `rest`; false when only blanks are left. */
bool span_word(struct span *rest, struct span *out_word);

/* Cuts at the first `mark`: what is before it into *out_head, what is behind stays in `rest`.
 * False, and nothing changed, without a mark. */
bool span_cut(struct span *rest, char mark, struct span *out_head);

/* As span_cut at the last `mark`. */
bool span_cut_last(struct span *rest, char mark, struct span *out_head);

/* The number of words. */
size_t span_words(struct span span);

bool span_is(struct span span, const char *text);

/* If the span begins with `text`, skips it. */
bool span_skip(struct span *span, const char *text);

/* An unsigned number of base 10 or 16 that fills the whole span and 64 bits at most. */
bool span_u64(struct span span, unsigned base, uint64_t *out_value);

/* As span_u64, up to 2^63 - 1. */
bool span_i64(struct span span, unsigned base, int64_t *out_value);

#endif
