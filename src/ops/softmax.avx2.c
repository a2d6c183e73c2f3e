#include "ops/softmax.kernels.h"
