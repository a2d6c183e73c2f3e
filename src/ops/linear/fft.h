/* fft.h - the common code of the kernels of fft. */
#ifndef LIANA_OPS_FFT_H
#define LIANA_OPS_FFT_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(fft);

/* Lines that are transformed together: element k of each stands beside those of the others. */
enum { LIANA__FFT_LINES = 16, LIANA__FFT_MOST_FACTORS = 64 };

/* A transform of a length: the length's factors, and the powers of e^(-2 pi i / length), or of e^(2 pi i / length). */
typedef struct liana__fft_plan {
    int64_t length;
    int64_t num_lines;
    int num_factors;
    int64_t factors[LIANA__FFT_MOST_FACTORS];
    float roots[]; /* [length, 2] */
} liana__fft_plan;

liana_status liana__fft_prepare(const liana__node *node, liana__prepared *prepared, liana__error *error);
liana_status liana__fft_cut(const liana__node *node, liana__prepared *prepared, liana__error *error);
void liana__fft_release(void *plan);

#endif
