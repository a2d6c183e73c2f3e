/* Products of a few rows for AVX2. */
#include "ops/linear/few_rows.kernels.h"
