/* The kernels of matmul for AVX-512 with dot products of bf16. */
#include "ops/linear/matmul.kernels.h"
