/* Products of matrices on emulated tiles, in plain C. */
#include "harness/emulated/emulated_kernels.h"

#include "ops/linear/product.kernels.h"
