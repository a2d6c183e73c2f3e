/* The kernels of update_steps for AVX-512. */
#include "ops/fused/update_steps.kernels.h"
