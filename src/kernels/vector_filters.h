/* vector_filters.h - for kernels that hold the sums of a block of a convolution's filters in registers.
 *
 * For *.kernels.h, compiled for one instruction set (see vector_kernels.h). */
#ifndef LIANA_KERNELS_VECTOR_FILTERS_H
#define LIANA_KERNELS_VECTOR_FILTERS_H

#include "kernels/counts.h"
#include "kernels/vector.h"

/* Stores those of a vector's filters that there are: `left` from its first on. */
LIANA__INLINE void store_filters(float *target, vector_float value, int64_t left)
{
    if (left >= VECTOR_LENGTH) {
        vector_store(target, value);
    } else if (left > 0) {
        vector_store_part(target, value, left);
    }
}

/* The same address. GCC would see that a loop's next round reads some pixels again, and keep them in registers that it
 * does not have. */
LIANA__INLINE const float *hide(const float *address)
{
    __asm__("" : "+r"(address));
    return address;
}

#endif
