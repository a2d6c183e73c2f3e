/* The kernels of conv2d.pointwise of bf16, multiplied as floats, for AVX2. */
#define LIANA__WIDENED
#include "ops/conv/conv2d.pointwise.kernels.h"
