#define LIANA__WIDENED
#include "ops/conv2d.kernel_gradient.kernels.h"
