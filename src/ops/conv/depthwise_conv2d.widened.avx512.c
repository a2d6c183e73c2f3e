#define LIANA__WIDENED
#include "ops/conv/depthwise_conv2d.kernels.h"
