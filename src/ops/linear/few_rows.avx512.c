/* Products of a few rows for AVX-512. */
#include "ops/linear/few_rows.kernels.h"
