/* The kernels of cross_entropy for AVX2. */
#include "ops/loss/cross_entropy.kernels.h"
