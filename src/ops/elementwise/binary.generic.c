/* The kernels of binary for vectors that any processor has. */
#include "ops/elementwise/binary.compare.kernels.h"
#include "ops/elementwise/binary.kernels.h"
