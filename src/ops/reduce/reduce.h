/* reduce.h - for the kernels of the reductions. */
#ifndef LIANA_OPS_REDUCE_H
#define LIANA_OPS_REDUCE_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(reduce);

typedef struct liana__reduce_attributes {
    liana__ints axes; /* ascending, none negative, after inference */
    bool keep_dims;
    bool wide; /* sums and means only: the result of bf16 is f32, in which it is accumulated */
} liana__reduce_attributes;

#endif
