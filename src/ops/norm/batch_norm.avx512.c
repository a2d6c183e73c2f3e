/* The kernels of batch_norm for AVX-512. */
#include "ops/norm/batch_norm.kernels.h"
