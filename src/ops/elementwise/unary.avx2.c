/* The kernels of unary for AVX2. */
#include "ops/elementwise/unary.kernels.h"
