/* What a receive buffer holds while nobody reads: hold by payload, sweep by buffer. */
#ifndef SONDE_PROBE_HOLD_H
#define SONDE_PROBE_HOLD_H

#include "proto/wire/buffers.h"

struct hold_order {
    enum family family;
    int64_t payload; /* any UDP payload, bytes */
    int64_t rcvbuf;  /* 0: a plain socket's default */
    int64_t sends;
};

/* Predicts from charge and rule (calibrate.h) what a socket holds that does not read, then sends to
 * one and counts what it holds by reading it. Where sockets count their drops, held + drops = sent
 * exactly, or STATUS_CORRUPT: then something else used the socket. */
enum status hold_measure(const struct hold_order *order, struct hold_result *out_result,
                         struct fault *fault) must_check;

#endif
