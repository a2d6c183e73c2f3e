/* The convolutions of single pixels on emulated tiles, beside AVX-512. */
#include "harness/emulated_kernels.h"

#include "ops/conv/conv2d.pointwise.kernels.h"
