/* The loops of host_squares for AVX-512. */
#include "backends/host_squares.kernels.h"

liana__host_squares liana__host_squares_avx512(const float *values, const float *before, int64_t count)
{
    return square(values, before, count);
}
