/* The kernels of random numbers for AVX-512. */
#include "ops/random/noise.kernels.h"
