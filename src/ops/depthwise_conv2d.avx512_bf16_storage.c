#include "ops/depthwise_conv2d.kernels.h"
