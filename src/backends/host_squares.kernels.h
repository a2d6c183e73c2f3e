/* host_squares.kernels.h - the loop, for the vectors that are being compiled for. */
#include "backends/host_squares.h"
#include "kernels/vector.h"

/* The same partial sums for vectors of any length, so that all give the same bits. */
enum { LANES = 16 };

LIANA__INLINE double add_lanes(const double sums[LANES])
{
    double all = 0;
    for (int k = 0; k < LANES; k++) all += sums[k];
    return all;
}

LIANA__INLINE double square_values(const float *values, int64_t count)
{
    double sums[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) sums[k] += (double)values[i + k] * (double)values[i + k];
    }
    for (int k = 0; i < count; i++, k++) sums[k] += (double)values[i] * (double)values[i];
    return add_lanes(sums);
}

LIANA__INLINE liana__host_squares square_both(const float *values, const float *before, int64_t count)
{
    double sums[LANES] = {0}, changes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) {
            const double value = (double)values[i + k], change = value - (double)before[i + k];
            sums[k] += value * value;
            changes[k] += change * change;
        }
    }
    for (int k = 0; i < count; i++, k++) {
        const double value = (double)values[i], change = value - (double)before[i];
        sums[k] += value * value;
        changes[k] += change * change;
    }
    return (liana__host_squares){add_lanes(sums), add_lanes(changes)};
}

LIANA__INLINE liana__host_squares square(const float *values, const float *before, int64_t count)
{
    if (before) return square_both(values, before, count);
    return (liana__host_squares){square_values(values, count), 0};
}
