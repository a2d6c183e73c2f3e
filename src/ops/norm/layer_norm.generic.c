/* The kernels of layer_norm for vectors that any processor has. */
#include "ops/norm/layer_norm.kernels.h"
