/* The kernels of softmax for AVX-512. */
#include "ops/reduce/softmax.kernels.h"
