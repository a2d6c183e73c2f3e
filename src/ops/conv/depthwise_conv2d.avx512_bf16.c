/* The kernels of depthwise_conv2d for AVX-512 with dot products of bf16. */
#include "ops/conv/depthwise_conv2d.kernels.h"
