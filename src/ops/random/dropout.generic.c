/* The kernels of dropout for vectors that any processor has. */
#include "ops/random/dropout.kernels.h"
