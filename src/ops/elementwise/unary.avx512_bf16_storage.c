/* The kernels of unary for AVX-512 with rounding to bf16. */
#include "ops/elementwise/unary.kernels.h"
