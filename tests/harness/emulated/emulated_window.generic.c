/* Convolutions of windows on emulated tiles, in plain C. */
#include "harness/emulated/emulated_kernels.h"

#include "ops/conv/conv2d.window.kernels.h"
