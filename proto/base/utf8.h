/* Words from outside: are they UTF-8, and what of them may reach a terminal. */
#ifndef SONDE_BASE_UTF8_H
#define SONDE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True when `bytes` is valid UTF-8 as RFC 3629 has it. */
bool utf8_is_valid(const char *bytes, size_t length);

/* Every byte of a control character (C0, DEL, C1) or of what is no UTF-8 becomes '?': words from
 * outside must not move a terminal's cursor or break a line. */
void utf8_mask(char *text);

#endif
