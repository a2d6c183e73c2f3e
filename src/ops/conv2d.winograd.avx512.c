#include "ops/conv2d.winograd.kernels.h"
