#include "ops/elementwise/unary.kernels.h"
