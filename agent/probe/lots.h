/* Drawing lots for the order of datagrams: from a seed, the same everywhere. Pure; no secret. */
#ifndef SONDE_PROBE_LOTS_H
#define SONDE_PROBE_LOTS_H

#include <stdint.h>

/* 0 .. count - 1 (splitmix64). The state begins as any number. */
uint64_t lots_draw(uint64_t *lots, uint64_t count);

#endif
