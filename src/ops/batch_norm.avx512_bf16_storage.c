#include "ops/batch_norm.kernels.h"
