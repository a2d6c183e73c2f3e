/* The kernels of depthwise_conv2d for AVX-512 with rounding to bf16. */
#include "ops/conv/depthwise_conv2d.kernels.h"
