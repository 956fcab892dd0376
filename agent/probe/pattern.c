/* Owns the padding's bytes. */
#include "agent/probe/pattern.h"

#include <stddef.h>

void pattern_init(struct pattern *pattern, uint64_t seed)
{
    uint64_t state = seed | 1;

    for (size_t i = 0; i < sizeof pattern->bytes; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        pattern->bytes[i] = (uint8_t)(state * UINT64_C(0x2545f4914f6cdd1d) >> 56);
    }
}

const uint8_t *pattern_slice(const struct pattern *pattern, uint32_t sequence)
{
    return pattern->bytes + (size_t)(sequence % PATTERN_SLICES) * PATTERN_STEP;
}
