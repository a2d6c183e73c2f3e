/* The loops of host_add for vectors that any processor has. */
#include "backends/host_add.kernels.h"

void liana__host_add_generic(float *dst, const float *src, int64_t count)
{
    add(dst, src, count);
}
