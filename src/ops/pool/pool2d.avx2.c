/* The kernels of pool2d for AVX2. */
#include "ops/pool/pool2d.kernels.h"
