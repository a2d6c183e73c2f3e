/* argmax.h - for the kernels of argmax. */
#ifndef LIANA_OPS_ARGMAX_H
#define LIANA_OPS_ARGMAX_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(argmax);

typedef struct liana__argmax_attributes {
    int64_t axis; /* not negative after inference */
} liana__argmax_attributes;

#endif
