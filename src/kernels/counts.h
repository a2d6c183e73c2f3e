/* counts.h - how many of this there are in that: kernels and their plans divide sizes with it. */
#ifndef LIANA_KERNELS_COUNTS_H
#define LIANA_KERNELS_COUNTS_H

#include <stdint.h>

static inline int64_t divide_round_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
