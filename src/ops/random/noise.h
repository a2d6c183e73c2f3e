/* noise.h - random_uniform and random_normal, for their kernels. */
#ifndef LIANA_OPS_NOISE_H
#define LIANA_OPS_NOISE_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"
#include "ops/random/philox.h"

LIANA__DECLARE_VECTOR_KERNELS(noise);

typedef struct liana__noise_attributes {
    int dtype;
    liana__ints shape; /* of one example */
    double shift;      /* the least number; the mean */
    double scale;      /* the width of the range; the standard deviation */
    int64_t seed;      /* the bits of the run's seed */
    int64_t salt;      /* a 32-bit word */
} liana__noise_attributes;

static inline liana__philox_key liana__noise_key(const liana__noise_attributes *options)
{
    return liana__philox_make_key((uint64_t)options->seed, LIANA__STREAM_NOISE, (uint32_t)options->salt);
}

/* A normal number is sqrt(2) erfinv(x), for x = (2 n + 1 - 2^24) / 2^24 of the n upper bits of a word: x is exact in a
 * float, and never -1 or 1. erfinv is that of Giles, "Approximating the erfinv function" (GPU Computing Gems 2, 2010),
 * in single precision: x times a polynomial of w - 2.5, or of sqrt(w) - 3 where w >= 5, for w = -log((1 - x) (1 + x)).
 * The leading coefficient is first. */
#define LIANA__ERFINV_CENTRE                                                                            \
    {                                                                                                   \
        2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, \
            -0.00417768164, 0.246640727, 1.50140941                                                     \
    }
#define LIANA__ERFINV_TAIL                                                                                           \
    {                                                                                                                \
        -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, \
            1.00167406, 2.83297682                                                                                   \
    }
enum { LIANA__ERFINV_TERMS = 9 };

#endif
