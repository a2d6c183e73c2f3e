/* The kernels of layer_norm for AVX2. */
#include "ops/norm/layer_norm.kernels.h"
