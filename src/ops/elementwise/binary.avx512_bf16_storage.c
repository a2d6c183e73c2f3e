/* The kernels of binary for AVX-512 with rounding to bf16. */
#include "ops/elementwise/binary.kernels.h"
