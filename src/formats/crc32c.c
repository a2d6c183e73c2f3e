#include "formats/crc32c.h"

#include "formats/crc32c_table.h"

#include <string.h>

/* Slicing-by-8 (Kounavis and Berry, "A systematic approach to building high performance software-based CRC
 * generators", 2005): eight table look-ups, independent of each other, for eight bytes. */
uint32_t liana__crc32c_extend_portable(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    crc = ~crc;
    for (; size >= 8; size -= 8, next += 8) {
        /* Put together byte by byte, which is right on any byte order; compilers make one load of it. */
        uint32_t low = crc ^ (next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24);
        crc = crc32c_table[7][low & 255] ^ crc32c_table[6][low >> 8 & 255] ^ crc32c_table[5][low >> 16 & 255] ^
              crc32c_table[4][low >> 24] ^ crc32c_table[3][next[4]] ^ crc32c_table[2][next[5]] ^
              crc32c_table[1][next[6]] ^ crc32c_table[0][next[7]];
    }
    for (; size > 0; size--) crc = crc32c_table[0][(crc ^ *next++) & 255] ^ crc >> 8;
    return ~crc;
}

#if defined(LIANA_X86)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t extend_sse42(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    uint64_t state = ~crc;
    for (; size >= 8; size -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, sizeof word);
        state = _mm_crc32_u64(state, word);
    }
    uint32_t rest = (uint32_t)state;
    for (; size > 0; size--) rest = _mm_crc32_u8(rest, *next++);
    return ~rest;
}

uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size)
{
    if (__builtin_cpu_supports("sse4.2")) return extend_sse42(crc, bytes, size);
    return liana__crc32c_extend_portable(crc, bytes, size);
}
#else
uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size)
{
    return liana__crc32c_extend_portable(crc, bytes, size);
}
#endif
