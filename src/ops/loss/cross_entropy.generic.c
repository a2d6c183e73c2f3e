/* The kernels of cross_entropy for vectors that any processor has. */
#include "ops/loss/cross_entropy.kernels.h"
