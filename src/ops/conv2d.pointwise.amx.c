#include "ops/conv2d.pointwise.kernels.h"
