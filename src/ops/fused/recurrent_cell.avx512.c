/* The kernels of recurrent_cell for AVX-512. */
#include "ops/fused/recurrent_cell.kernels.h"
