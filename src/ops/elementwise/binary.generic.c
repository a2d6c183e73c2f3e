#include "ops/elementwise/binary.kernels.h"
#include "ops/elementwise/compare.kernels.h"
