/* softmax.h - what the kernels of softmax and log_softmax share. */
#ifndef LIANA_OPS_SOFTMAX_H
#define LIANA_OPS_SOFTMAX_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__softmax_avx2, liana__softmax_avx512;
extern const liana__kernel liana__log_softmax_avx2, liana__log_softmax_avx512;
#endif

/* The length of the last axis. */
static inline int64_t liana__row_length(const liana_shape *shape)
{
    return shape->dims[shape->rank - 1];
}

#endif
