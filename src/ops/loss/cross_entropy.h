/* cross_entropy.h - for the kernels of the softmax cross-entropy and its gradient. */
#ifndef LIANA_OPS_CROSS_ENTROPY_H
#define LIANA_OPS_CROSS_ENTROPY_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(cross_entropy);
LIANA__DECLARE_VECTOR_KERNELS(cross_entropy_gradient);

#endif
