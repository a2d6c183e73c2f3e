/* The kernels of batch_norm for vectors that any processor has. */
#include "ops/norm/batch_norm.kernels.h"
