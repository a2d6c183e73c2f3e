/* The kernels of conv2d.kernel_gradient of bf16, multiplied as floats, for AVX2. */
#define LIANA__WIDENED
#include "ops/conv/conv2d.kernel_gradient.kernels.h"
