#include "ops/binary.kernels.h"
#include "ops/compare.kernels.h"
