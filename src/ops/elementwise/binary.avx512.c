/* The kernels of binary for AVX-512. */
#include "ops/elementwise/binary.compare.kernels.h"
#include "ops/elementwise/binary.kernels.h"
