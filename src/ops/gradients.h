/* gradients.h - builders that only gradient rules use. Each is an op like any other, with its own samples. */
#ifndef LIANA_OPS_GRADIENTS_H
#define LIANA_OPS_GRADIENTS_H

#include "ops/ops.h"

/* dy where y = relu(x) is > 0, else 0. */
liana_tensor liana__op_relu_gradient_at(liana_location here, liana_tensor y, liana_tensor dy);
/* dy where y = relu6(x) is > 0 and < 6, else 0. */
liana_tensor liana__op_relu6_gradient_at(liana_location here, liana_tensor y, liana_tensor dy);

#endif
