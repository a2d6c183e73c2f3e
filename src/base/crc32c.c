/* Computes CRC-32C by tables or by the processor's instruction. */
#include "base/crc32c.h"

#include "base/crc32c.table.h"

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
#include <wmmintrin.h>

/* The instruction takes 8 bytes in 3 cycles but begins one in each: three neighbouring blocks are done side by side,
 * and the first two checksums are then moved on over the later blocks (Gopal et al., "Fast CRC computation for iSCSI
 * polynomial using CRC32 instruction", Intel 2011). */
enum { LONG_BLOCK = 1024, SHORT_BLOCK = 128 }; /* bytes */

/* x^(8 n - 33) mod P, reversed as the checksum is: the product with a checksum has 33 bits more than the checksum. */
typedef struct distance {
    uint32_t one_block;
    uint32_t two_blocks;
} distance;
static const distance LONG_DISTANCE = {0x170076fa, 0xa51b6135};
static const distance SHORT_DISTANCE = {0x0d3b6092, 0xb9e02b86};

#define TARGET __attribute__((target("sse4.2,pclmul")))

TARGET static inline uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

TARGET static inline uint64_t multiply(uint64_t crc, uint32_t power)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128((int32_t)power), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Three blocks of `block` bytes. */
TARGET static inline uint64_t three_blocks(uint64_t state, const uint8_t *next, size_t block, const distance *moved)
{
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < block; i += 8) {
        state = _mm_crc32_u64(state, load_word(next + i));
        second = _mm_crc32_u64(second, load_word(next + block + i));
        third = _mm_crc32_u64(third, load_word(next + 2 * block + i));
    }
    return third ^ _mm_crc32_u64(0, multiply(state, moved->two_blocks) ^ multiply(second, moved->one_block));
}

TARGET static uint32_t extend_pclmul(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    uint64_t state = ~crc;
    for (; size >= 3 * LONG_BLOCK; size -= 3 * LONG_BLOCK, next += 3 * LONG_BLOCK) {
        state = three_blocks(state, next, LONG_BLOCK, &LONG_DISTANCE);
    }
    for (; size >= 3 * SHORT_BLOCK; size -= 3 * SHORT_BLOCK, next += 3 * SHORT_BLOCK) {
        state = three_blocks(state, next, SHORT_BLOCK, &SHORT_DISTANCE);
    }
    for (; size >= 8; size -= 8, next += 8) state = _mm_crc32_u64(state, load_word(next));
    uint32_t rest = (uint32_t)state;
    for (; size > 0; size--) rest = _mm_crc32_u8(rest, *next++);
    return ~rest;
}

uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size)
{
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) return extend_pclmul(crc, bytes, size);
    return liana__crc32c_extend_portable(crc, bytes, size);
}
#else
uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size)
{
    return liana__crc32c_extend_portable(crc, bytes, size);
}
#endif
