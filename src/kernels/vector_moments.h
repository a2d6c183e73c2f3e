/* vector_moments.h - mean and variance of each channel of a kernel's results, added while they are in registers.
 *
 * Rows (pixels) are added in float over blocks of about MOMENT_ROWS rows; blocks are added in double.
 *
 * f32: sums of x - shift and of its square. The shift of a block is the mean of the block before; that of the first
 * block is the first row. In double everything is about a centre that never changes. So the cancellation of squares is
 * small compared with the variance, whatever the mean (see batch_norm.kernels.h).
 *
 * bf16 (LIANA__STORES_BF16): sums of x as it is stored and of its square, without a shift; with fast dot products, two
 * rows in one instruction. A square has 16 bits. If all numbers of a block are within a factor of two of each other, 64
 * of them are added in float without rounding. If not, their variance is so large that rounding is small compared with
 * it. */
#ifndef LIANA_KERNELS_VECTOR_MOMENTS_H
#define LIANA_KERNELS_VECTOR_MOMENTS_H

#include "kernels/vector.h"

enum { MOMENT_ROWS = 64 };

/* Of one vector of channels. Starts as zeros. */
typedef struct vector_moments {
    float sum[VECTOR_LENGTH], square[VECTOR_LENGTH]; /* of the block, about `shift` */
    float shift[VECTOR_LENGTH], centre[VECTOR_LENGTH];
    double sums[VECTOR_LENGTH], squares[VECTOR_LENGTH]; /* of the blocks before, about `centre` */
    int64_t rows;                                       /* of those */
    bool started;                                       /* shift and centre are known */
} __attribute__((aligned(64))) vector_moments;

#if defined(LIANA__DOTS)

/* Two rows: words 2c and 2c + 1 are of channel c. */
LIANA__INLINE void moments_add_pairs(__m512i pairs, vector_float *sum, vector_float *square)
{
    const __m512i ones = _mm512_set1_epi16(0x3f80);
    *sum = (vector_float)bf16_dot((__m512)*sum, pairs, ones);
    *square = (vector_float)bf16_dot((__m512)*square, pairs, pairs);
}

/* One row, then the other, to pairs. */
LIANA__INLINE __m512i moments_pair(__m512i rows)
{
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i high = _mm512_slli_epi32(_mm512_add_epi32(low, _mm512_set1_epi32(16)), 16);
    return _mm512_permutexvar_epi16(_mm512_or_si512(low, high), rows);
}

#elif defined(LIANA__STORES_BF16)

/* A row as it is stored. */
LIANA__INLINE void moments_add_stored(vector_float x, vector_float *sum, vector_float *square)
{
    *sum += x;
    *square = vector_fma(x, x, *square);
}

#else

/* Any row shows where the numbers are. */
LIANA__INLINE void moments_start(vector_moments *m, vector_float row)
{
    vector_store(m->shift, row);
    vector_store(m->centre, row);
    m->started = true;
}

/* One row. */
LIANA__INLINE void moments_add_shifted(vector_float x, vector_float shift, vector_float *sum, vector_float *square)
{
    const vector_float d = x - shift;
    *sum += d;
    *square = vector_fma(d, d, *square);
}

/* `rows` rows (a constant), `stride` vectors apart. */
LIANA__INLINE void moments_add(const int rows, const vector_float *x, const int stride, vector_moments *m)
{
    const vector_float shift = vector_load(m->shift);
    vector_float sum = vector_load(m->sum), square = vector_load(m->square);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) moments_add_shifted(x[r * stride], shift, &sum, &square);
    vector_store(m->sum, sum);
    vector_store(m->square, square);
}

#endif

/* Closes a block of `rows` rows. With delta = shift - centre: sum(x - centre) = sum(x - shift) + rows delta, and the
 * same for squares. */
static inline void moments_close(vector_moments *m, int64_t rows)
{
    const vector_float sum = vector_load(m->sum), shift = vector_load(m->shift);
    const vector_wide wide_sum = vector_widen(sum), wide_square = vector_widen(vector_load(m->square));
    const vector_wide wide_shift = vector_widen(shift), centre = vector_widen(vector_load(m->centre));
    for (int h = 0; h < 2; h++) {
        double *sums = m->sums + h * VECTOR_LENGTH / 2, *squares = m->squares + h * VECTOR_LENGTH / 2;
        const vector_double s = wide_sum.half[h], delta = wide_shift.half[h] - centre.half[h];
        const vector_double moved = delta * (double)rows;
        vector_store_double(sums, vector_load_double(sums) + (s + moved));
        vector_store_double(squares, vector_load_double(squares) + (wide_square.half[h] + delta * (s + s + moved)));
    }
#if !defined(LIANA__STORES_BF16)
    vector_store(m->shift, vector_fma(sum, vector_set(1 / (float)rows), shift));
#endif
    vector_store(m->sum, vector_set(0));
    vector_store(m->square, vector_set(0));
    m->rows += rows;
}

/* Mean and variance of `count` channels over the closed blocks. */
static inline void moments_give(const vector_moments *m, int64_t count, double *restrict mean,
                                double *restrict variance)
{
    const double share = 1 / (double)m->rows;
    for (int64_t c = 0; c < count; c++) {
        const double moved = m->sums[c] * share, v = m->squares[c] * share - moved * moved;
        mean[c] = m->centre[c] + moved;
        variance[c] = v < 0 ? 0 : v;
    }
}

#endif
