#include "ops/cast.kernels.h"
