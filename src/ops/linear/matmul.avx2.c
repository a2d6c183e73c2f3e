/* The kernels of matmul for AVX2. */
#include "ops/linear/matmul.kernels.h"
