/* host_add.h - sums of tensors: how the sums of shards meet. */
#ifndef LIANA_BACKENDS_HOST_ADD_H
#define LIANA_BACKENDS_HOST_ADD_H

#include "base/cpu.h"

#include <stdbool.h>
#include <stdint.h>

/* sum = left + right, element by element. `sum` may be `left` or `right`; else they do not overlap. true: all sums are
 * finite. */
typedef bool (*liana__host_add_loop)(float *sum, const float *left, const float *right, int64_t count);

bool liana__host_add_avx512(float *sum, const float *left, const float *right, int64_t count);
bool liana__host_add_avx2(float *sum, const float *left, const float *right, int64_t count);
bool liana__host_add_generic(float *sum, const float *left, const float *right, int64_t count);

/* The fastest for an instruction set; all give the same bits. */
liana__host_add_loop liana__host_choose_add(liana__isa isa);

#endif
