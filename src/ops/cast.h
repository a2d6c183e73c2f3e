/* cast.h - what the kernels of cast share. */
#ifndef LIANA_OPS_CAST_H
#define LIANA_OPS_CAST_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__cast_avx2, liana__cast_avx512;
#endif

#endif
