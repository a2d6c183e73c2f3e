/* The kernels of recurrent_cell for vectors that any processor has. */
#include "ops/fused/recurrent_cell.kernels.h"
