/* little_endian.h - little-endian numbers in files, on any processor. */
#ifndef LIANA_BASE_LITTLE_ENDIAN_H
#define LIANA_BASE_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint32_t liana__load_u32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t liana__load_u64(const uint8_t *bytes)
{
    return liana__load_u32(bytes) | (uint64_t)liana__load_u32(bytes + 4) << 32;
}

static inline void liana__store_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline void liana__store_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

#endif
