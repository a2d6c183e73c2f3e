/* Products of matrices on emulated tiles, with AVX-512. */
#include "harness/emulated/emulated_kernels.h"

#include "ops/linear/product.kernels.h"
