/* cast.h - for the kernels of cast. */
#ifndef LIANA_OPS_CAST_H
#define LIANA_OPS_CAST_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(cast);

#endif
