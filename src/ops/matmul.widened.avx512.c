#define LIANA__WIDENED
#include "ops/matmul.kernels.h"
