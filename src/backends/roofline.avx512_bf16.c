/* The loops of roofline for AVX-512 with dot products of bf16. */
#include "backends/roofline.h"

#include "kernels/bf16_instructions.h"

enum { CHAINS = 16, LANES = 16 }; /* more than latency times units, fewer than the 32 registers */

static float compute(int64_t rounds)
{
    __m512 sums[CHAINS];
    const __m512i small = _mm512_set1_epi16(0x3400); /* 2^-23 in bf16: sums stay normal numbers */
    for (int i = 0; i < CHAINS; i++) sums[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) sums[i] = bf16_dot(sums[i], small, small);
    }
    for (int i = 1; i < CHAINS; i++) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_reduce_add_ps(sums[0]);
}

/* A lane multiplies and adds two pairs. */
const liana__roofline_products liana__roofline_avx512_bf16 = {.compute = compute,
                                                              .flops_per_round = 4.0 * CHAINS * LANES};
