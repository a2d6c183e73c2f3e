/* Matrix products for AVX-512 with dot products of bf16. */
#include "ops/linear/product.kernels.h"
