/* The kernels of conv2d.winograd for AVX2. */
#include "ops/conv/conv2d.winograd.kernels.h"
