#include "ops/conv/conv2d.kernel_gradient.kernels.h"
