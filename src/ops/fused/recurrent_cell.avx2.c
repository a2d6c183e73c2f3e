/* The kernels of recurrent_cell for AVX2. */
#include "ops/fused/recurrent_cell.kernels.h"
