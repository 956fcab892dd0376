/* The three standard descriptors of a program: for its main. */
#ifndef SONDE_BASE_STANDARD_H
#define SONDE_BASE_STANDARD_H

#include <stdbool.h>

/* Opens those that are closed: a closed descriptor would become a socket's, and what is printed
 * would go into the network. Opened for reading, so that a write to a stdout that was closed fails
 * as it should. */
bool standard_open(void);

/* Writes what is left to standard output and closes it: a full disk shows only then. False when
 * something of it could not be written, which is said on standard error in `program`'s name. */
bool standard_close(const char *program);

#endif
