/* The kernels of count_non_finite for AVX-512. */
#include "ops/reduce/count_non_finite.kernels.h"
