/* host_add.kernels.h - the loop, for the vectors that are being compiled for. */
#include "backends/host_add.h"
#include "kernels/vector.h"

enum { AT_ONCE = 4 };

LIANA__INLINE void add(float *sum, const float *left, const float *right, int64_t count)
{
    int64_t i = 0;
    for (; i + AT_ONCE * VECTOR_LENGTH <= count; i += AT_ONCE * VECTOR_LENGTH) {
#pragma GCC unroll 4
        for (int k = 0; k < AT_ONCE; k++) {
            const int64_t at = i + k * VECTOR_LENGTH;
            vector_store(sum + at, vector_load(left + at) + vector_load(right + at));
        }
    }
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store(sum + i, vector_load(left + i) + vector_load(right + i));
    }
    for (; i < count; i++) sum[i] = left[i] + right[i];
}
