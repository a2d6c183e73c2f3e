/* binary.h - for the kernels of the element-wise ops with two inputs. */
#ifndef LIANA_OPS_BINARY_H
#define LIANA_OPS_BINARY_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(binary);
LIANA__DECLARE_VECTOR_KERNELS(compare);

#endif
