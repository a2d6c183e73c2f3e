/* Matrix products for AVX2. */
#include "ops/linear/product.kernels.h"
