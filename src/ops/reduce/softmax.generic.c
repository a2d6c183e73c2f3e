#include "ops/reduce/softmax.kernels.h"
