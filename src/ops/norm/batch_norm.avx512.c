#include "ops/norm/batch_norm.kernels.h"
