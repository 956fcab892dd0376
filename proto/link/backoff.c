/* Owns the arithmetic of growing pauses. Has no clock and no randomness of its own. */
#include "proto/link/backoff.h"

#include <assert.h>

void backoff_init(struct backoff *backoff, int64_t first_ns, int64_t last_ns)
{
    assert(first_ns > 0 && first_ns <= last_ns);
    *backoff = (struct backoff){ .first_ns = first_ns, .last_ns = last_ns, .next_ns = first_ns };
}

void backoff_reset(struct backoff *backoff)
{
    backoff->next_ns = backoff->first_ns;
}

int64_t backoff_next(struct backoff *backoff, uint64_t random)
{
    int64_t step = backoff->next_ns;
    int64_t half = step / 2;

    backoff->next_ns = step <= backoff->last_ns / 2 ? step * 2 : backoff->last_ns;
    return step - (int64_t)(random % ((uint64_t)half + 1));
}
