/* Numbers in network byte order at any alignment; compilers make one load or store of each. */
#ifndef SONDE_BASE_OCTETS_H
#define SONDE_BASE_OCTETS_H

#include <stdint.h>

static inline uint16_t octets_get16(const uint8_t *at)
{
    return (uint16_t)((unsigned)at[0] << 8 | at[1]);
}

static inline uint32_t octets_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t octets_get64(const uint8_t *at)
{
    return (uint64_t)octets_get32(at) << 32 | octets_get32(at + 4);
}

static inline void octets_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void octets_put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static inline void octets_put64(uint8_t *at, uint64_t value)
{
    octets_put32(at, (uint32_t)(value >> 32));
    octets_put32(at + 4, (uint32_t)value);
}

#endif
