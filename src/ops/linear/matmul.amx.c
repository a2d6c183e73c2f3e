#include "ops/linear/matmul.kernels.h"
