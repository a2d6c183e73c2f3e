/* The kernels of batch_norm for AVX-512 with rounding to bf16. */
#include "ops/norm/batch_norm.kernels.h"
