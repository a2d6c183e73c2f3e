/* The kernels of conv2d_max_pool.winograd for AVX2. */
#include "ops/fused/conv2d_max_pool.winograd.kernels.h"
