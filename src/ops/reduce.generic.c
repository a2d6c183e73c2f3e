#include "ops/reduce.kernels.h"
