#include "ops/conv/conv2d.window.kernels.h"
