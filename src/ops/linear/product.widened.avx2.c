/* Matrix products of bf16, multiplied as floats, for AVX2. */
#define LIANA__WIDENED
#include "ops/linear/product.kernels.h"
