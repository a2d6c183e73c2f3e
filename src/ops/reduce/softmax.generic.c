/* The kernels of softmax for vectors that any processor has. */
#include "ops/reduce/softmax.kernels.h"
