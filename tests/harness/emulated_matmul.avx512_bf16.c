#include "harness/emulated_kernels.h"

#include "ops/matmul.kernels.h"
