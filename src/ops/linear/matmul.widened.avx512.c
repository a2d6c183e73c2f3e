/* The kernels of matmul of bf16, multiplied as floats, for AVX-512. */
#define LIANA__WIDENED
#include "ops/linear/matmul.kernels.h"
