#include "harness/emulated_kernels.h"

#include "ops/conv/conv2d.pointwise.kernels.h"
