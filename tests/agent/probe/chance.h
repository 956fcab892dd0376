/* Random numbers of tests: the seed is printed, and SONDE_TEST_SEED gives it back. */
#ifndef SONDE_TEST_PROBE_CHANCE_H
#define SONDE_TEST_PROBE_CHANCE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/base/digest.h"

struct chance {
    uint64_t state;
};

static inline struct chance chance_start(const char *test)
{
    const char *given = getenv("SONDE_TEST_SEED");
    struct chance chance;

    if (given != NULL)
        chance.state = strtoull(given, NULL, 0);
    else
        digest_random(&chance.state, sizeof chance.state);
    printf("%s: SONDE_TEST_SEED=%" PRIu64 "\n", test, chance.state);
    fflush(stdout);
    return chance;
}

/* splitmix64 */
static inline uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. count - 1 */
static inline uint64_t chance_below(struct chance *chance, uint64_t count)
{
    return chance_next(chance) % count;
}

#endif
