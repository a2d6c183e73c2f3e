/* The kernels of depthwise_conv2d of bf16, multiplied as floats, for AVX2. */
#define LIANA__WIDENED
#include "ops/conv/depthwise_conv2d.kernels.h"
