#define LIANA__WIDENED
#include "ops/linear/matmul.kernels.h"
