#define LIANA__WIDENED
#include "ops/conv2d.pointwise.kernels.h"
