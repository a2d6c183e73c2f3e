#include "ops/binary.kernels.h"
