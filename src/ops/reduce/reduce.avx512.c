#include "ops/reduce/reduce.kernels.h"
