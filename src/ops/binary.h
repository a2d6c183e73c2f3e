/* binary.h - what the kernels of the element-wise ops with two inputs share. */
#ifndef LIANA_OPS_BINARY_H
#define LIANA_OPS_BINARY_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__binary_avx2, liana__binary_avx512;
extern const liana__kernel liana__compare_avx2, liana__compare_avx512;
#endif

#endif
