#include "ops/pool2d.kernels.h"
