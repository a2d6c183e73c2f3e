/* The kernels of pool2d for vectors that any processor has. */
#include "ops/pool/pool2d.kernels.h"
