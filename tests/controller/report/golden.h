/* Accounts in words against golden files, for the tests of terminal*.c.
 *
 * SONDE_GOLDEN=update writes the files anew; look at the difference before you keep it. */
#ifndef SONDE_TEST_GOLDEN_H
#define SONDE_TEST_GOLDEN_H

#include "controller/report/terminal.h"

extern const struct terminal_style golden_plain; /* no colours, ASCII */

/* The run must be valid; buf_done frees the text. */
void golden_tell(const struct run *run, struct terminal_style style, struct buf *out);

/* Fails when a line is too long, ends in a blank or has what is not ASCII. */
void golden_check_lines(const char *text);

/* The plain account is that of golden/NAME, and its lines are as they must be. */
void golden_expect(const struct run *run, const char *name);

#endif
