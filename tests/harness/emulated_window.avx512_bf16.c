#include "harness/emulated_kernels.h"

#include "ops/conv2d.window.kernels.h"
