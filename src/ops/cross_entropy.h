/* cross_entropy.h - what the kernels of the softmax cross-entropy and its gradient share. */
#ifndef LIANA_OPS_CROSS_ENTROPY_H
#define LIANA_OPS_CROSS_ENTROPY_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__cross_entropy_avx2, liana__cross_entropy_avx512;
extern const liana__kernel liana__cross_entropy_gradient_avx2, liana__cross_entropy_gradient_avx512;
#endif

#endif
