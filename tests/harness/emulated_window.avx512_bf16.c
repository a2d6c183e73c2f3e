#include "harness/emulated_kernels.h"

#include "ops/conv/conv2d.window.kernels.h"
