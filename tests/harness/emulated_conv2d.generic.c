/* The convolutions of single pixels on emulated tiles, in plain C. */
#include "harness/emulated_kernels.h"

#include "ops/conv/conv2d.pointwise.kernels.h"
