/* update_steps.h - parts of an optimizer's update, each as one op: for the pass that makes them, and for the kernels. */
#ifndef LIANA_OPS_UPDATE_STEPS_H
#define LIANA_OPS_UPDATE_STEPS_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(moving_average);
LIANA__DECLARE_VECTOR_KERNELS(root_descent);

typedef struct liana__moving_average_attributes {
    double share; /* of the new value, rounded to the tensors' dtype */
    bool squares; /* the average is of the values' squares */
} liana__moving_average_attributes;

typedef struct liana__root_descent_attributes {
    double epsilon;
} liana__root_descent_attributes;

#endif
