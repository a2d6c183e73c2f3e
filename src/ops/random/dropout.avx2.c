/* The kernels of dropout for AVX2. */
#include "ops/random/dropout.kernels.h"
