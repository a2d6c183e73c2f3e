#include "ops/conv/conv2d.winograd_gradient.kernels.h"
