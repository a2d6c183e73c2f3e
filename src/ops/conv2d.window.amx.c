#include "ops/conv2d.window.kernels.h"
