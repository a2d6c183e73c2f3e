/* unary.h - what the kernels of the element-wise ops with one input share. */
#ifndef LIANA_OPS_UNARY_H
#define LIANA_OPS_UNARY_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__unary_avx2, liana__unary_avx512;
#endif

#endif
