/* The kernels of matmul for AMX. */
#include "ops/linear/matmul.kernels.h"
