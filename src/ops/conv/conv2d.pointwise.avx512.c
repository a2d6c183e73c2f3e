#include "ops/conv/conv2d.pointwise.kernels.h"
