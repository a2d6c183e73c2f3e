/* The kernels of depthwise_conv2d for AVX-512. */
#include "ops/conv/depthwise_conv2d.kernels.h"
