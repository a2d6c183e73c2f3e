#include "harness/emulated_kernels.h"

#include "ops/linear/matmul.kernels.h"
