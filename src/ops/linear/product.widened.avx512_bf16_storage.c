/* Matrix products of bf16, multiplied as floats, for AVX-512 with rounding to bf16. */
#define LIANA__WIDENED
#include "ops/linear/product.kernels.h"
