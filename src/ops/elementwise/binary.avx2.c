/* The kernels of binary for AVX2. */
#include "ops/elementwise/binary.compare.kernels.h"
#include "ops/elementwise/binary.kernels.h"
