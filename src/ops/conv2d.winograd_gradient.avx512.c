#include "ops/conv2d.winograd_gradient.kernels.h"
