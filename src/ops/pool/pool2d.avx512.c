/* The kernels of pool2d for AVX-512. */
#include "ops/pool/pool2d.kernels.h"
