/* The kernels of update_steps for AVX2. */
#include "ops/fused/update_steps.kernels.h"
