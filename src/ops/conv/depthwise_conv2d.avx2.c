/* The kernels of depthwise_conv2d for AVX2. */
#include "ops/conv/depthwise_conv2d.kernels.h"
