/* The kernels of conv2d.kernel_gradient for AVX-512 with dot products of bf16. */
#include "ops/conv/conv2d.kernel_gradient.kernels.h"
