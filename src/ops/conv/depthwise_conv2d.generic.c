/* The kernels of depthwise_conv2d for vectors that any processor has. */
#include "ops/conv/depthwise_conv2d.kernels.h"
