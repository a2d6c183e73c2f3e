/* The kernels of unary for vectors that any processor has. */
#include "ops/elementwise/unary.kernels.h"
