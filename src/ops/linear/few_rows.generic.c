/* Products of a few rows for vectors that any processor has. */
#include "ops/linear/few_rows.kernels.h"
