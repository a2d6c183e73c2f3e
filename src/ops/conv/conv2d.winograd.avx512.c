#include "ops/conv/conv2d.winograd.kernels.h"
