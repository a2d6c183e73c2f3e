/* The kernels of cast for AVX-512. */
#include "ops/elementwise/cast.kernels.h"
