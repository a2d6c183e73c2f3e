/* The kernels of argmax for AVX-512. */
#include "ops/reduce/argmax.kernels.h"
