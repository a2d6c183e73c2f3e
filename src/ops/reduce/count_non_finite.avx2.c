/* The kernels of count_non_finite for AVX2. */
#include "ops/reduce/count_non_finite.kernels.h"
