#include "ops/argmax.kernels.h"
