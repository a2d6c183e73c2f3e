/* host_add.kernels.h - the loop, for the vectors that are being compiled for. */
#include "backends/host_add.h"
#include "kernels/vector.h"

enum { AT_ONCE = 4 };

LIANA__INLINE bool add(float *sum, const float *left, const float *right, int64_t count)
{
    vector_int bad[AT_ONCE] = {{0}};
    int64_t i = 0;
    for (; i + AT_ONCE * VECTOR_LENGTH <= count; i += AT_ONCE * VECTOR_LENGTH) {
#pragma GCC unroll 4
        for (int k = 0; k < AT_ONCE; k++) {
            const int64_t at = i + k * VECTOR_LENGTH;
            const vector_float total = vector_load(left + at) + vector_load(right + at);
            vector_store(sum + at, total);
            bad[k] |= vector_not_finite(total);
        }
    }
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        const vector_float total = vector_load(left + i) + vector_load(right + i);
        vector_store(sum + i, total);
        bad[0] |= vector_not_finite(total);
    }
    bool finite = true;
    for (; i < count; i++) {
        sum[i] = left[i] + right[i];
        finite = finite && sum[i] - sum[i] == 0;
    }
    return finite && !vector_any(bad[0] | bad[1] | bad[2] | bad[3]);
}
