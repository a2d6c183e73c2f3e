/* The kernels of conv2d.few_channels for AVX-512. */
#include "ops/conv/conv2d.few_channels.kernels.h"
