#include "ops/conv/conv2d.few_channels.kernels.h"
