/* Asked against granted: what a kernel makes of the buffer that a program wants. */
#ifndef SONDE_PROBE_LADDER_H
#define SONDE_PROBE_LADDER_H

#include "proto/wire/buffers.h"

/* Opens a plain socket and asks for a buffer; asked NONE_INT leaves and reports the default. A
 * kernel that refuses is an answer: granted is NONE_INT and *out_error says so; else that is "". */
void ladder_step(enum family family, enum buffer_side side, int64_t asked,
                 struct ladder_result *out_result, struct fault *out_error);

#endif
