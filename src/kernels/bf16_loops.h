/* bf16_loops.h - whole tensors from bf16 to floats and back, for one instruction set. */
#ifndef LIANA_KERNELS_BF16_LOOPS_H
#define LIANA_KERNELS_BF16_LOOPS_H

#include "base/cpu.h"

#include <stdint.h>

/* Source and target do not overlap. */
typedef struct liana__bf16_loops {
    void (*widen)(const uint16_t *source, int64_t count, float *target);
    void (*narrow)(const float *source, int64_t count, uint16_t *target);
} liana__bf16_loops;

extern const liana__bf16_loops liana__bf16_loops_avx512, liana__bf16_loops_avx2, liana__bf16_loops_generic;

/* The fastest for an instruction set; all give the same bits. */
const liana__bf16_loops *liana__bf16_loops_for(liana__isa isa);

#endif
