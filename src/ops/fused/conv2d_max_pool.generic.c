/* The kernels of conv2d_max_pool for vectors that any processor has. */
#include "ops/fused/conv2d_max_pool.kernels.h"
