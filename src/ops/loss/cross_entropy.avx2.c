#include "ops/loss/cross_entropy.kernels.h"
