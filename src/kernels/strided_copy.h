/* strided_copy.h - copies elements of any dtype between two layouts, for slice, pad, concat, transpose and
 * broadcast_to. */
#ifndef LIANA_KERNELS_STRIDED_COPY_H
#define LIANA_KERNELS_STRIDED_COPY_H

#include "kernels/strided_walk.h"

/* The operands of the walk (not yet joined) are dst, in which no two elements may meet, and src. Copies in runs as long
 * as the layouts allow. `element_size` is 1, 2, 4 or 8 bytes. */
void liana__copy_strided(const liana__walk *walk, size_t element_size, void *dst, const void *src);

#endif
