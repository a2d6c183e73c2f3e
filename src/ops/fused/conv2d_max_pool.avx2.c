/* The kernels of conv2d_max_pool for AVX2. */
#include "ops/fused/conv2d_max_pool.kernels.h"
