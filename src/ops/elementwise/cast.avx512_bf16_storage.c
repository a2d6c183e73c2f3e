/* The kernels of cast for AVX-512 with rounding to bf16. */
#include "ops/elementwise/cast.kernels.h"
