/* dropout.h - which elements dropout keeps, for its kernels. */
#ifndef LIANA_OPS_DROPOUT_H
#define LIANA_OPS_DROPOUT_H

#include "base/random.h"
#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(dropout);

typedef struct liana__dropout_attributes {
    double rate;
    int64_t seed; /* the bits of the run's seed */
    int64_t salt; /* which dropout layer of the run; a 32-bit word */
} liana__dropout_attributes;

/* Element j of an example uses word j % 4 of the counter {j / 4, the example's position}. */
static inline liana__philox_key liana__dropout_key(const liana__dropout_attributes *options)
{
    return liana__philox_make_key((uint64_t)options->seed, LIANA__STREAM_DROPOUT, (uint32_t)options->salt);
}

/* The smallest word, in units of 2^-24, with which an element is kept: an element is kept if its uniform number, a
 * multiple of 2^-24, is at least the rate. */
static inline uint32_t liana__dropout_threshold(double rate)
{
    return (uint32_t)ceil(rate * 0x1p24);
}

/* The factor of kept values; a float for all dtypes but f64, so that every kernel rounds in the same way. */
static inline double liana__dropout_scale(double rate, liana_dtype dtype)
{
    double scale = 1 / (1 - rate);
    return dtype == LIANA_F64 ? scale : (float)scale;
}

#endif
