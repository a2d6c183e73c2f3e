/* The kernels of conv2d.winograd for AVX-512. */
#include "ops/conv/conv2d.winograd.kernels.h"
