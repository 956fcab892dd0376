/* Asks this host what advice needs to know, and proves advice on the spot. */
#ifndef SONDE_PROBE_ADVISER_H
#define SONDE_PROBE_ADVISER_H

#include "agent/probe/advice.h"
#include "proto/base/addr.h"

/* Measures charge and rule for datagrams of `payload` bytes, and what sockets are granted here.
 * *out_most is the grant of the largest ask, with the name of the limit behind it. */
enum status adviser_look(enum family family, int64_t payload, struct advice_host *out_host,
                         struct grant *out_most, struct fault *fault) must_check;

/* A burst into an empty buffer that nobody reads, on sockets of its own. */
struct advice_trial {
    bool present;
    struct grant rcvbuf;
    int64_t sent;
    int64_t predicted; /* held, by charge and rule and what was granted */
    int64_t held;      /* by reading it afterwards */
};

/* What is to be proved; all borrowed. */
struct advice_claim {
    enum family family;
    int64_t payload;
    const struct advice_host *host;
    const struct advice *advice;
};

/* What the advice says, tried. */
struct advice_proof {
    bool present;
    bool at_limit; /* the advised buffer is not granted here: `advised` is the largest that is, and
                      got a little more than it can hold */
    struct advice_trial advised;
    struct advice_trial smaller; /* one step smaller; not present at the limit, or when this system
                                    has no buffer that is too small */
    bool agrees;
};

/* What is not proved: more would be filled with datagrams than this. */
#define ADVISER_BYTES_MAX (INT64_C(1) << 30)

/* The advised buffer must hold the advice's datagrams that come back to back, and the largest that
 * should not must not. What the system's limit does not grant, or what no buffer cures, is tried
 * with the largest that it grants. STATUS_TOO_LARGE above ADVISER_BYTES_MAX. */
enum status adviser_prove(const struct advice_claim *claim, struct advice_proof *out_proof,
                          struct fault *fault) must_check;

#endif
