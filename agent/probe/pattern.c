/* Owns the padding's bytes. */
#include "agent/probe/pattern.h"

#include <string.h>

void pattern_init(struct pattern *pattern, uint64_t seed)
{
    uint64_t state = seed | 1;

    for (size_t i = 0; i < PATTERN_PERIOD; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        pattern->bytes[i] = (uint8_t)(state * UINT64_C(0x2545f4914f6cdd1d) >> 56);
    }
    for (size_t i = PATTERN_PERIOD; i < sizeof pattern->bytes; i++)
        pattern->bytes[i] = pattern->bytes[i - PATTERN_PERIOD];
}

const uint8_t *pattern_slice(const struct pattern *pattern, uint32_t sequence)
{
    return pattern->bytes + (size_t)(sequence % PATTERN_SLICES) * PATTERN_STEP;
}

bool pattern_matches(const struct pattern *pattern, uint32_t sequence, const uint8_t *bytes,
                     size_t length)
{
    const uint8_t *slice = pattern_slice(pattern, sequence);

    for (; length > PATTERN_PERIOD; bytes += PATTERN_PERIOD, length -= PATTERN_PERIOD) {
        if (memcmp(bytes, slice, PATTERN_PERIOD) != 0)
            return false;
    }
    return memcmp(bytes, slice, length) == 0;
}
