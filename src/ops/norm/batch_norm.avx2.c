/* The kernels of batch_norm for AVX2. */
#include "ops/norm/batch_norm.kernels.h"
