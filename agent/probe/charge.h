/* What the kernel charges for a queued datagram, by its size: where the charge jumps, and what
 * changes it. */
#ifndef SONDE_PROBE_CHARGE_H
#define SONDE_PROBE_CHARGE_H

#include "proto/base/addr.h"
#include "proto/wire/record.h"

/* A run of payloads with one rule: charge = `charge` + (payload - from) * slope, slope 0 or 1. */
struct charge_step {
    int64_t from, to; /* payloads, both included */
    int64_t charge;   /* of `from` */
    int64_t slope;    /* bytes of charge for one more byte of payload */
};

enum charge_way {
    CHARGE_PLAIN,     /* an unconnected receiver, as most servers have */
    CHARGE_CONNECTED, /* a receiver connected to the sender */
    CHARGE_OTHER_CPU, /* sent from another CPU than it is read on */
    CHARGE_GRO,       /* a receiver that asked for UDP_GRO, the sender sends segments */
    CHARGE_WAY_COUNT
};

extern const char *const charge_way_names[];

/* Finds every step from `low` to `high` by bisection: appends to a list of struct charge_step.
 * STATUS_UNSUPPORTED where a socket's queued bytes cannot be read or this way does not exist
 * here. */
enum status charge_steps(enum family family, enum charge_way way, int64_t low, int64_t high,
                         struct list *out_steps, struct fault *fault) must_check;

#endif
