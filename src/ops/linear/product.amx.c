/* Matrix products for AMX. */
#include "ops/linear/product.kernels.h"
