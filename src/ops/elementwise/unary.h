/* unary.h - for the kernels of the element-wise ops with one input. */
#ifndef LIANA_OPS_UNARY_H
#define LIANA_OPS_UNARY_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(unary);

#endif
