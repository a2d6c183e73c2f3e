/* The kernels of matmul for AVX-512. */
#include "ops/linear/matmul.kernels.h"
