#include "ops/conv2d_max_pool.kernels.h"
