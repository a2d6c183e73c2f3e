/* The kernels of conv2d.pointwise for AVX2. */
#include "ops/conv/conv2d.pointwise.kernels.h"
