/* What a receive buffer holds while nobody reads: the ladder of buffers, hold by payload, sweep by
 * buffer, and a port where nobody listens. */
#ifndef SONDE_PROBE_HOLD_H
#define SONDE_PROBE_HOLD_H

#include "proto/wire/buffers.h"

/* Opens a plain socket and asks for a buffer; asked NONE_INT leaves and reports the default. A
 * kernel that refuses is an answer: granted is NONE_INT and out_error says so. */
void ladder_step(enum family family, enum buffer_side side, int64_t asked,
                 struct ladder_result *out_result, char *out_error, size_t size);

/* Sends `sends` datagrams to a socket that does not read, then counts what it holds by reading it,
 * and predicts the same number beforehand from charge and rule (calibrate.h). */
enum status hold_measure(enum family family, int64_t payload, int64_t rcvbuf, int64_t sends,
                         struct hold_result *out_result, struct fault *fault) must_check;

/* Sends to a port of loopback where nobody listens. */
enum status closed_port_measure(enum family family, int64_t sends,
                                struct closed_port_result *out_result,
                                struct fault *fault) must_check;

#endif
