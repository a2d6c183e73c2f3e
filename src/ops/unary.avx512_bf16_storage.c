#include "ops/unary.kernels.h"
