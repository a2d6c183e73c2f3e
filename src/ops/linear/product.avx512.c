/* Matrix products for AVX-512. */
#include "ops/linear/product.kernels.h"
