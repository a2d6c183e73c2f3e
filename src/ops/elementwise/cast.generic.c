/* The kernels of cast for vectors that any processor has. */
#include "ops/elementwise/cast.kernels.h"
