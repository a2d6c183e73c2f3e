/* The kernels of count_non_finite for vectors that any processor has. */
#include "ops/reduce/count_non_finite.kernels.h"
