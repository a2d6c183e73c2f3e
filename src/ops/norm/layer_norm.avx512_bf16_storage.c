/* The kernels of layer_norm for AVX-512 with rounding to bf16. */
#include "ops/norm/layer_norm.kernels.h"
