#include "ops/cross_entropy.kernels.h"
