/* The kernels of reduce for AVX-512. */
#include "ops/reduce/reduce.kernels.h"
