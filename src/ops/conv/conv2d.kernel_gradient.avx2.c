/* The kernels of conv2d.kernel_gradient for AVX2. */
#include "ops/conv/conv2d.kernel_gradient.kernels.h"
