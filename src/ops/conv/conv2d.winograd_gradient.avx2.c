/* The kernels of conv2d.winograd_gradient for AVX2. */
#include "ops/conv/conv2d.winograd_gradient.kernels.h"
