/* How long to wait before trying again: doubling with full jitter, from a first to a last pause.
 * Pure. */
#ifndef SONDE_LINK_BACKOFF_H
#define SONDE_LINK_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t first_ns, last_ns;
    int64_t next_ns;
};

void backoff_init(struct backoff *backoff, int64_t first_ns, int64_t last_ns);

/* It worked: start from the first pause again. */
void backoff_reset(struct backoff *backoff);

/* The next pause: between half of and the whole current step; `random` is any 64 random bits. */
int64_t backoff_next(struct backoff *backoff, uint64_t random);

#endif
