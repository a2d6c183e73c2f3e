#include "ops/elementwise/binary.kernels.h"
