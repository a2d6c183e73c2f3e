/* The kernels of conv2d.kernel_gradient for AVX-512. */
#include "ops/conv/conv2d.kernel_gradient.kernels.h"
