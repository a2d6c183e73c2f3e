/* host_add.kernels.h - the loop, for the vectors that are being compiled for. */
#include "backends/host_add.h"
#include "kernels/vector.h"

enum { AT_ONCE = 4 };

LIANA__INLINE void add(float *dst, const float *src, int64_t count)
{
    int64_t i = 0;
    for (; i + AT_ONCE * VECTOR_LENGTH <= count; i += AT_ONCE * VECTOR_LENGTH) {
#pragma GCC unroll 4
        for (int k = 0; k < AT_ONCE; k++) {
            float *at = dst + i + k * VECTOR_LENGTH;
            vector_store(at, vector_load(at) + vector_load(src + i + k * VECTOR_LENGTH));
        }
    }
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store(dst + i, vector_load(dst + i) + vector_load(src + i));
    }
    for (; i < count; i++) dst[i] += src[i];
}
