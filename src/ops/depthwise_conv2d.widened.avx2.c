#define LIANA__WIDENED
#include "ops/depthwise_conv2d.kernels.h"
