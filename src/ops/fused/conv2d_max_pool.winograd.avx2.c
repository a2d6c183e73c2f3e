#include "ops/fused/conv2d_max_pool.winograd.kernels.h"
