/* The kernels of conv2d.window for AMX. */
#include "ops/conv/conv2d.window.kernels.h"
