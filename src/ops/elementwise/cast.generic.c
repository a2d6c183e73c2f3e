#include "ops/elementwise/cast.kernels.h"
