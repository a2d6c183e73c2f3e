/* The kernels of conv2d.pointwise for AVX-512 with dot products of bf16. */
#include "ops/conv/conv2d.pointwise.kernels.h"
