/* The kernels of conv2d.pointwise for AMX. */
#include "ops/conv/conv2d.pointwise.kernels.h"
