#include "ops/dropout.kernels.h"
