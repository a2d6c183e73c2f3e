/* The kernels of argmax for vectors that any processor has. */
#include "ops/reduce/argmax.kernels.h"
