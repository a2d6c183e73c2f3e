#include "ops/random/dropout.kernels.h"
