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

/* Where charges come from: `measure` gives the charge of one datagram of `payload` bytes. */
struct charge_source {
    enum status (*measure)(void *context, int64_t payload, int64_t *out_charge,
                           struct fault *fault);
    void *context;
};

/* Finds every step from `low` to `high` and appends to a list of struct charge_step: from where a
 * step begins it reaches out by powers of two, then bisects, so it asks about 2 log2(high - low)
 * times for each step, twice that on a slope. What does not come in steps (more than
 * CHARGE_STEPS_MAX) is STATUS_CORRUPT. Pure but for the source; on failure the list is as it was.
 */
enum { CHARGE_STEPS_MAX = 256 };
enum status charge_bisect(const struct charge_source *source, int64_t low, int64_t high,
                          struct list *out_steps, struct fault *fault) must_check;

/* The charge of a payload by a sequence of steps; NONE_INT where no step has it. */
int64_t charge_at(const struct list *steps, int64_t payload);

/* What the rule of Linux says that a datagram over loopback is charged where the smallest one is
 * charged `smallest` (net/core/skbuff.c:__alloc_skb with 64-byte cache lines and 4 KiB pages, as
 * on x86-64; net/ipv4/ip_output.c:__ip_append_data): the sender's buffer for headers, payload and
 * the kernel's own end of it is a power of two; above 16 KiB the payload lies in pages. It does not
 * know of fragments: it is for datagrams that the interface's MTU lets pass whole. */
int64_t charge_predicted(enum family family, int64_t payload, int64_t smallest);

enum charge_way {
    CHARGE_PLAIN,     /* an unconnected receiver, as most servers have */
    CHARGE_CONNECTED, /* a receiver connected to the sender */
    CHARGE_OTHER_CPU, /* sent from another CPU than it is read on */
    CHARGE_GRO,       /* a receiver that asked for UDP_GRO, the sender sends segments */
    CHARGE_WAY_COUNT
};

extern const char *const charge_way_names[];

/* CHARGE_GRO: so many segments are sent as one; the charge is that of one of them, rounded up. */
enum { CHARGE_GRO_SEGMENTS = 16 };

/* The smallest and the largest payload that this way can carry. */
void charge_limits(enum family family, enum charge_way way, int64_t *out_low, int64_t *out_high);

struct charge_question {
    enum family family;
    enum charge_way way;
    int64_t low, high; /* payloads, within charge_limits */
};

/* Finds every step on sockets of its own, so that no other traffic changes it. Appends as
 * charge_bisect. STATUS_UNSUPPORTED where the system does not tell what a queued datagram is
 * charged, or where this way does not exist here. */
enum status charge_steps(const struct charge_question *question, struct list *out_steps,
                         struct fault *fault) must_check;

#endif
