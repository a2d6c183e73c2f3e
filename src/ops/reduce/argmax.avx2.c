/* The kernels of argmax for AVX2. */
#include "ops/reduce/argmax.kernels.h"
