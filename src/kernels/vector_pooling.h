/* vector_pooling.h - the greatest of the results under a pooling's window of 2x2, and which it is. */
#ifndef LIANA_KERNELS_VECTOR_POOLING_H
#define LIANA_KERNELS_VECTOR_POOLING_H

#include "kernels/vector.h"

enum { POOLING_TAPS = 4 };

/* Where x takes the place of the greatest so far: a NaN wins over numbers, the first one over others. */
LIANA__INLINE vector_int pooling_wins(vector_float x, vector_float best)
{
    return ~(x <= best) & (best == best);
}

/* From the window's results, line by line. Returns the greatest (of it and 0 if `relu`), *winner is its number. */
LIANA__INLINE vector_float pooling_best(const vector_float *results, bool relu, vector_float *winner)
{
    vector_float best = results[0];
    *winner = vector_set(0);
    for (int tap = 1; tap < POOLING_TAPS; tap++) {
        const vector_int won = pooling_wins(results[tap], best);
        best = vector_select(won, results[tap], best);
        *winner = vector_select(won, vector_set((float)tap), *winner);
    }
    return relu ? vector_select(best < vector_set(0), vector_set(0), best) : best;
}

#endif
