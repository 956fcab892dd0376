/* Owns a stream of numbers from a seed. Must not be used for what nobody may guess. */
#include "agent/probe/lots.h"

uint64_t lots_draw(uint64_t *lots, uint64_t count)
{
    uint64_t z = *lots += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % count;
}
