/* The kernels of update_steps for vectors that any processor has. */
#include "ops/fused/update_steps.kernels.h"
