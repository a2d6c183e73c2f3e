/* The loops of host_add for vectors that any processor has. */
#include "backends/host_add.kernels.h"

bool liana__host_add_generic(float *sum, const float *left, const float *right, int64_t count)
{
    return add(sum, left, right, count);
}
