/* The kernels of layer_norm for AVX-512. */
#include "ops/norm/layer_norm.kernels.h"
