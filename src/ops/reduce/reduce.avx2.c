/* The kernels of reduce for AVX2. */
#include "ops/reduce/reduce.kernels.h"
