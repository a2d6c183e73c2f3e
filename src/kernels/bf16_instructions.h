/* bf16_instructions.h - the instructions of AVX512-BF16, on vectors of words: for files that are compiled for them.
 *
 * Clang 16 has a type of its own for the intrinsics' vectors, on which its optimizer recurses without an end. There the
 * instructions are written as such. */
#ifndef LIANA_KERNELS_BF16_INSTRUCTIONS_H
#define LIANA_KERNELS_BF16_INSTRUCTIONS_H

#if defined(__AVX512BF16__)

#include <immintrin.h>

#if defined(__clang__) && __clang_major__ == 16
#define LIANA__BF16_BY_ASSEMBLY
#endif

/* 16 floats, rounded to bf16. */
static inline __attribute__((always_inline, unused)) __m256i bf16_round(__m512 floats)
{
#if defined(LIANA__BF16_BY_ASSEMBLY)
    __m256i words;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(words) : "v"(floats));
    return words;
#else
    return (__m256i)_mm512_cvtneps_pbh(floats);
#endif
}

/* 32 floats: `low` becomes the lower half. */
static inline __attribute__((always_inline, unused)) __m512i bf16_round_two(__m512 high, __m512 low)
{
#if defined(LIANA__BF16_BY_ASSEMBLY)
    __m512i words;
    __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(words) : "v"(high), "v"(low));
    return words;
#else
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
#endif
}

/* sums + a * b: the products of two neighbours are added to their lane. */
static inline __attribute__((always_inline, unused)) __m512 bf16_dot(__m512 sums, __m512i a, __m512i b)
{
#if defined(LIANA__BF16_BY_ASSEMBLY)
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
#else
    return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
#endif
}

#endif
#endif
