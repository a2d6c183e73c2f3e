/* The kernels of conv2d.few_channels for vectors that any processor has. */
#include "ops/conv/conv2d.few_channels.kernels.h"
