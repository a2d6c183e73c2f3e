/* The kernels of random numbers for vectors that any processor has. */
#include "ops/random/noise.kernels.h"
