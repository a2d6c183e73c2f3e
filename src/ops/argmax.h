/* argmax.h - what the kernels of argmax share. */
#ifndef LIANA_OPS_ARGMAX_H
#define LIANA_OPS_ARGMAX_H

#include "ops/ops.h"

#if defined(__x86_64__)
extern const liana__kernel liana__argmax_avx2, liana__argmax_avx512;
#endif

typedef struct liana__argmax_attributes {
    int64_t axis; /* not negative after inference */
} liana__argmax_attributes;

#endif
