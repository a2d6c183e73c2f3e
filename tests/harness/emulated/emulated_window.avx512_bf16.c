/* Convolutions of windows on emulated tiles, with AVX-512. */
#include "harness/emulated/emulated_kernels.h"

#include "ops/conv/conv2d.window.kernels.h"
