/* host_squares.h - sums of squares of tensors: their norms. */
#ifndef LIANA_BACKENDS_HOST_SQUARES_H
#define LIANA_BACKENDS_HOST_SQUARES_H

#include "base/cpu.h"

#include <stdint.h>

/* In double precision: of a tensor, and of its differences from another one (`before` NULL: 0). */
typedef struct liana__host_squares {
    double values, changes;
} liana__host_squares;

typedef liana__host_squares (*liana__host_squares_loop)(const float *values, const float *before, int64_t count);

liana__host_squares liana__host_squares_avx512(const float *values, const float *before, int64_t count);
liana__host_squares liana__host_squares_avx2(const float *values, const float *before, int64_t count);
liana__host_squares liana__host_squares_generic(const float *values, const float *before, int64_t count);

/* The fastest for an instruction set; all give the same bits. */
liana__host_squares_loop liana__host_choose_squares(liana__isa isa);

#endif
