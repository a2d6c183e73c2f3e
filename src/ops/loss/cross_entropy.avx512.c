/* The kernels of cross_entropy for AVX-512. */
#include "ops/loss/cross_entropy.kernels.h"
