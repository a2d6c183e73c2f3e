/* philox.kernels.h - Philox (base/random.h) on vectors, for one instruction set. */
#ifndef LIANA_OPS_PHILOX_KERNELS_H
#define LIANA_OPS_PHILOX_KERNELS_H

#include "base/random.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_math.h"

typedef uint64_t words64 __attribute__((vector_size(LIANA_VECTOR_BYTES)));

/* Each 128 bits have one counter of Philox, its words in order. The next round needs the 64-bit products of the even
 * words, with their halves swapped within 128 bits. The last round's words are in the order of the elements. */
#if LIANA_VECTOR_BYTES == 64
typedef __m512i counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    counters product = _mm512_shuffle_epi32(_mm512_mul_epu32(c, factors), _MM_PERM_ABCD);
    return _mm512_ternarylogic_epi32(product, _mm512_srli_epi64(c, 32), key, 0x96); /* exclusive or of the three */
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return _mm512_add_epi32(a, b);
}
#elif LIANA_VECTOR_BYTES == 32
typedef __m256i counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    counters product = _mm256_shuffle_epi32(_mm256_mul_epu32(c, factors), 0x1b);
    return _mm256_xor_si256(_mm256_xor_si256(product, _mm256_srli_epi64(c, 32)), key);
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return _mm256_add_epi32(a, b);
}
#else
typedef words64 counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    vector_uint product = (vector_uint)((c & UINT32_MAX) * factors);
    return (counters)(vector_uint){product[3], product[2], product[1], product[0]} ^ (c >> 32) ^ key;
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return (counters)((vector_uint)a + (vector_uint)b);
}
#endif

/* The same two words in each counter's even places, 0 in the odd ones. */
LIANA__INLINE counters repeat_pair(uint32_t first, uint32_t second)
{
    words64 pair = {0};
    for (int i = 0; i < VECTOR_LENGTH / 2; i++) pair[i] = i % 2 ? second : first;
    return (counters)pair;
}

/* Vectors that are computed side by side, to keep the multipliers busy. */
enum { LANES = 4, STEP = LANES * VECTOR_LENGTH };

/* The words of `STEP` elements from element 4 * block on. */
static void draw(liana__philox_key seed, uint64_t block, uint64_t position, vector_uint words[LANES])
{
    const counters factors = repeat_pair(0xD2511F53u, 0xCD9E8D57u), weyl = repeat_pair(0x9E3779B9u, 0xBB67AE85u);
    counters key = repeat_pair(seed.words[0], seed.words[1]), c[LANES];
    words64 start;
    for (int i = 0; i < VECTOR_LENGTH / 2; i++) start[i] = i % 2 ? position : block + (uint64_t)i / 2;
    const words64 next = (words64)repeat_pair(VECTOR_LENGTH / 4, 0);
    for (int lane = 0; lane < LANES; lane++) {
        c[lane] = (counters)start;
        start += next;
    }
    for (int round = 0; round < 10; round++) {
        for (int lane = 0; lane < LANES; lane++) c[lane] = philox_round(c[lane], factors, key);
        key = add32(key, weyl);
    }
    for (int lane = 0; lane < LANES; lane++) words[lane] = (vector_uint)c[lane];
}

#endif
