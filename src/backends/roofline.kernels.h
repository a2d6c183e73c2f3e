/* roofline.kernels.h - the loops, for the vectors that are being compiled for. */
#include "backends/roofline.h"
#include "kernels/vector.h"

enum { CHAINS = 12 }; /* more than latency times units of any core, fewer than the registers of any */

static float compute(int64_t rounds)
{
    vector_float sums[CHAINS], factor = vector_set(0.999999f), term = vector_set(1e-6f);
    for (int i = 0; i < CHAINS; i++) sums[i] = vector_set((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sums[i] = vector_fma(sums[i], factor, term);
    }
    for (int i = 1; i < CHAINS; i++) sums[0] += sums[i];
    return sums[0][0];
}

enum { STREAMS = 8 };

static float read_all(const float *source, int64_t count)
{
    vector_float sums[STREAMS] = {vector_set(0)};
    for (int64_t i = 0; i < count; i += STREAMS * VECTOR_LENGTH) {
#pragma GCC unroll 8
        for (int k = 0; k < STREAMS; k++) sums[k] += vector_load(source + i + k * VECTOR_LENGTH);
    }
    for (int k = 1; k < STREAMS; k++) sums[0] += sums[k];
    return sums[0][0];
}

static void scale(float *target, const float *source, int64_t count)
{
    vector_float two = vector_set(2);
    for (int64_t i = 0; i < count; i += STREAMS * VECTOR_LENGTH) {
#pragma GCC unroll 8
        for (int k = 0; k < STREAMS; k++) {
            vector_store(target + i + k * VECTOR_LENGTH, two * vector_load(source + i + k * VECTOR_LENGTH));
        }
    }
}

#if LIANA_VECTOR_BYTES == 64
#define ROOFLINE_LOOPS liana__roofline_avx512
#elif LIANA_VECTOR_BYTES == 32
#define ROOFLINE_LOOPS liana__roofline_avx2
#else
#define ROOFLINE_LOOPS liana__roofline_generic
#endif

const liana__roofline_loops ROOFLINE_LOOPS = {.compute = compute,
                                              .flops_per_round = 2.0 * CHAINS * VECTOR_LENGTH,
                                              .read = read_all,
                                              .scale = scale};
