/* softmax.h - for softmax, log_softmax, their kernels, and the cross-entropy of a softmax. */
#ifndef LIANA_OPS_SOFTMAX_H
#define LIANA_OPS_SOFTMAX_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

LIANA__DECLARE_VECTOR_KERNELS(softmax);
LIANA__DECLARE_VECTOR_KERNELS(log_softmax);
LIANA__DECLARE_VECTOR_KERNELS(softmax_gradient);

/* The gradient of softmax's input from its result and the gradient of that. */
liana_tensor liana__op_softmax_gradient_of(liana_tensor y, liana_tensor dy);

/* The length of the last axis. */
static inline int64_t liana__row_length(const liana_shape *shape)
{
    return shape->dims[shape->rank - 1];
}

/* For plain loops: the greatest element of a row, which keeps e^x from overflowing, and the sum of e^(x - greatest). */
typedef struct liana__softmax_row {
    double greatest, sum;
} liana__softmax_row;
liana__softmax_row liana__softmax_read_row(const liana__call *call, int64_t first, int64_t length);

/* The same as StableHLO: x less the greatest element of its row, e to that, and the sum of it. */
typedef struct liana__softmax_lowered {
    liana__hlo values, powers, sum;
} liana__softmax_lowered;
liana__softmax_lowered liana__softmax_lower_rows(liana__lowering *lowering, liana__hlo x);

/* Of input 0: the maximum; the difference from it, its exp and their sum; the quotient or difference. */
void liana__softmax_cost(const liana__node *node, liana__cost *cost);

#endif
