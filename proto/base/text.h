/* Words and numbers as text, the same under every locale. */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/status.h"

enum { TEXT_QUANTITY_SIZE = 40 };

/* Copies into a buffer of `size` bytes; false when it had to cut (the end is still a zero, and no
 * UTF-8 sequence is cut in two). */
bool text_copy(char *out_text, size_t size, const char *text);

/* A decimal integer and nothing else: optional '-', digits; no blanks, no '+', no exponent.
 * STATUS_INVALID for another form, STATUS_RANGE beyond 64 bits (also below). */
enum status text_to_i64(const char *text, int64_t *out_value) must_check;

/* An unsigned decimal integer and nothing else. */
enum status text_to_u64(const char *text, uint64_t *out_value) must_check;

/* A decimal number with '.' and nothing else: digits [ '.' digits ]; no exponent, no locale. */
enum status text_to_real(const char *text, double *out_value) must_check;

/* 1234567 as "1,234,567". */
void text_grouped(int64_t value, char out_text[TEXT_QUANTITY_SIZE]);

/* Bytes for people, binary units: "4 MiB", "64.8 KiB", "831 B". */
void text_bytes(int64_t bytes, char out_text[TEXT_QUANTITY_SIZE]);

/* A time for people, three digits without zeros at the end: "850 ns", "12.3 us", "4.06 ms", "1.25
 * s", "2 s". */
void text_duration(int64_t ns, char out_text[TEXT_QUANTITY_SIZE]);

/* The candidate nearest to `word` (NULL-terminated list) when it is near enough to have been
 * meant: at most a third of its letters differ. NULL otherwise. */
const char *text_nearest(const char *word, const char *const *candidates);

#endif
