/* host_add.h - sums of tensors: how the sums of shards meet. */
#ifndef LIANA_BACKENDS_HOST_ADD_H
#define LIANA_BACKENDS_HOST_ADD_H

#include "base/cpu.h"

#include <stdint.h>

/* dst += src, element by element. They do not overlap. */
typedef void (*liana__host_add_loop)(float *dst, const float *src, int64_t count);

void liana__host_add_avx512(float *dst, const float *src, int64_t count);
void liana__host_add_avx2(float *dst, const float *src, int64_t count);
void liana__host_add_generic(float *dst, const float *src, int64_t count);

/* The fastest for an instruction set; all give the same bits. */
liana__host_add_loop liana__host_choose_add(liana__isa isa);

#endif
