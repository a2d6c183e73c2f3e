/* softmax.h - what the kernels of softmax and log_softmax share. */
#ifndef LIANA_OPS_SOFTMAX_H
#define LIANA_OPS_SOFTMAX_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(softmax);
LIANA__DECLARE_VECTOR_KERNELS(log_softmax);

/* The length of the last axis. */
static inline int64_t liana__row_length(const liana_shape *shape)
{
    return shape->dims[shape->rank - 1];
}

#endif
