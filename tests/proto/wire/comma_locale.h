/* A locale that writes 0,125. */
#ifndef SONDE_TESTS_COMMA_LOCALE_H
#define SONDE_TESTS_COMMA_LOCALE_H

#include <stdbool.h>

/* Sets the system's, or one that is made for this test; false when neither is to be had. */
bool comma_locale_begin(void);

/* Back to C; removes what was made. */
void comma_locale_end(void);

#endif
