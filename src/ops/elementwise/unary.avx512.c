/* The kernels of unary for AVX-512. */
#include "ops/elementwise/unary.kernels.h"
