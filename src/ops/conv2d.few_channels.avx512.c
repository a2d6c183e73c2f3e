#include "ops/conv2d.few_channels.kernels.h"
