/* The kernels of cast for AVX2. */
#include "ops/elementwise/cast.kernels.h"
