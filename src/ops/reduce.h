/* reduce.h - what the kernels of the reductions share. */
#ifndef LIANA_OPS_REDUCE_H
#define LIANA_OPS_REDUCE_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__reduce_avx2, liana__reduce_avx512;
#endif

typedef struct liana__reduce_attributes {
    liana__ints axes; /* ascending, none negative, after inference */
    bool keep_dims;
} liana__reduce_attributes;

#endif
