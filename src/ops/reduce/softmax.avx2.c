/* The kernels of softmax for AVX2. */
#include "ops/reduce/softmax.kernels.h"
