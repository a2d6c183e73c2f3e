#include "ops/matmul.kernels.h"
