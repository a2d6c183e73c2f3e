/* The kernels of dropout for AVX-512. */
#include "ops/random/dropout.kernels.h"
