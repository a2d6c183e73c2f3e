/* The kernels of random numbers for AVX2. */
#include "ops/random/noise.kernels.h"
