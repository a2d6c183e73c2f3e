/* The kernels of reduce for vectors that any processor has. */
#include "ops/reduce/reduce.kernels.h"
