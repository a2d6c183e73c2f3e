/* winograd.h - convolutions of 3x3 windows with fewer products: the transforms, vectors of channels at a time.
 *
 * For *.kernels.h, compiled for one instruction set (see vector_kernels.h). The algorithm is S. Winograd's (Arithmetic
 * Complexity of Computations, 1980), applied to images by A. Lavin and S. Gray (Fast Algorithms for Convolutional
 * Neural Networks, 2015). Input and window are polynomials. They are multiplied by their values at m + 1 points and at
 * infinity, which gives m x m neighbouring results (m is 3 or 4). A direct sum takes 9 products for each result and
 * channel; this takes (m + 2)^2 / m^2: 2.8 or 2.25.
 *
 * In one dimension, with points p_0 ... p_m, M(x) the product of all (x - p_i), i a point and j a power:
 *
 *   input   row i of B^T has the coefficients of M(x) / (x - p_i); the last row has those of M(x)
 *   kernel  G[i][j] = p_i^j / N_i, where N_i is the product of (p_i - p_k) over the other points k;
 *           the last row is 0 0 1
 *   output  A^T[j][i] = p_i^j; the last column is zeros above a 1
 *
 * In two dimensions, where * is cell by cell:
 *
 *   results             = A^T (sum over channels of (G g G^T) * (B^T d B)) A
 *   gradient of window  = G^T (sum over tiles of (B^T d B) * (A dy A^T)) G
 *
 * The points are 0, +-3/4, +-3/2 for m = 4; without -3/2 for m = 3. The usual points 0, +-1, +-2 lose a digit. These
 * make about twice the rounding errors of a direct sum (bench/products.md has the measured ones). Errors are small
 * compared with the largest numbers that a tile sees, not compared with each of its results. */
#ifndef LIANA_KERNELS_WINOGRAD_H
#define LIANA_KERNELS_WINOGRAD_H

#include "kernels/vector_dtype.h"

/* Bound of the rounding error, in errors of direct sums. Long sums measure about 2 (tests/kernels/test_winograd.c). */
#define WINOGRAD_ROUNDING 4.0

/* Cells of a window, and most results and cells of a tile, along an axis. */
enum { WINOGRAD_WINDOW = 3, WINOGRAD_RESULTS = 4, WINOGRAD_CELLS = 6 };

/* The points other than 0, their squares, and the N_i: for m = 4 (the same for a point and its negative), then for m =
 * 3. */
#define WINOGRAD_A 0.75f
#define WINOGRAD_B 1.5f
#define WINOGRAD_A2 (WINOGRAD_A * WINOGRAD_A)
#define WINOGRAD_B2 (WINOGRAD_B * WINOGRAD_B)
#define WINOGRAD_N0 (WINOGRAD_A2 * WINOGRAD_B2)
#define WINOGRAD_NA (2 * WINOGRAD_A2 * (WINOGRAD_A2 - WINOGRAD_B2))
#define WINOGRAD_NB (2 * WINOGRAD_B2 * (WINOGRAD_B2 - WINOGRAD_A2))
#define WINOGRAD_3_N0 (WINOGRAD_A2 * WINOGRAD_B)
#define WINOGRAD_3_NA (2 * WINOGRAD_A2 * (WINOGRAD_A - WINOGRAD_B))
#define WINOGRAD_3_MINUS_NA (-2 * WINOGRAD_A2 * (WINOGRAD_A + WINOGRAD_B))
#define WINOGRAD_3_NB (WINOGRAD_B * (WINOGRAD_B2 - WINOGRAD_A2))

/* ---- one dimension; m is a constant ---- */

/* B^T: m + 2 cells to m + 2. */
LIANA__INLINE void winograd_input(const int m, const vector_float *d, vector_float *v)
{
    if (m == 3) {
        const vector_float b = vector_set(-WINOGRAD_B), a2 = vector_set(-WINOGRAD_A2);
        const vector_float product = vector_set(WINOGRAD_3_N0), ab = vector_set(WINOGRAD_A * WINOGRAD_B);
        v[0] = vector_fma(product, d[0], vector_fma(a2, d[1], vector_fma(b, d[2], d[3])));
        v[1] = vector_fma(-ab, d[1], vector_fma(vector_set(WINOGRAD_A - WINOGRAD_B), d[2], d[3]));
        v[2] = vector_fma(ab, d[1], vector_fma(vector_set(-(WINOGRAD_A + WINOGRAD_B)), d[2], d[3]));
        v[3] = vector_fma(a2, d[1], d[3]);
        v[4] = vector_fma(product, d[1], vector_fma(a2, d[2], vector_fma(b, d[3], d[4])));
        return;
    }
    const vector_float a2 = vector_set(-WINOGRAD_A2), b2 = vector_set(-WINOGRAD_B2);
    const vector_float product = vector_set(WINOGRAD_N0), sum = vector_set(-(WINOGRAD_A2 + WINOGRAD_B2));
    const vector_float even_a = vector_fma(b2, d[2], d[4]), odd_a = vector_fma(b2, d[1], d[3]);
    const vector_float even_b = vector_fma(a2, d[2], d[4]), odd_b = vector_fma(a2, d[1], d[3]);
    v[0] = vector_fma(product, d[0], vector_fma(sum, d[2], d[4]));
    v[1] = vector_fma(vector_set(WINOGRAD_A), odd_a, even_a);
    v[2] = vector_fma(vector_set(-WINOGRAD_A), odd_a, even_a);
    v[3] = vector_fma(vector_set(WINOGRAD_B), odd_b, even_b);
    v[4] = vector_fma(vector_set(-WINOGRAD_B), odd_b, even_b);
    v[5] = vector_fma(product, d[1], vector_fma(sum, d[3], d[5]));
}

/* G: 3 cells to m + 2. */
LIANA__INLINE void winograd_kernel(const int m, const vector_float *g, vector_float *u)
{
    if (m == 3) {
        const vector_float even = vector_fma(vector_set(WINOGRAD_A2), g[2], g[0]);
        const vector_float b = vector_fma(vector_set(WINOGRAD_B2), g[2], g[0]);
        u[0] = vector_set(1 / WINOGRAD_3_N0) * g[0];
        u[1] = vector_set(1 / WINOGRAD_3_NA) * vector_fma(vector_set(WINOGRAD_A), g[1], even);
        u[2] = vector_set(1 / WINOGRAD_3_MINUS_NA) * vector_fma(vector_set(-WINOGRAD_A), g[1], even);
        u[3] = vector_set(1 / WINOGRAD_3_NB) * vector_fma(vector_set(WINOGRAD_B), g[1], b);
        u[4] = g[2];
        return;
    }
    const vector_float even_a = vector_set(1 / WINOGRAD_NA) * vector_fma(vector_set(WINOGRAD_A2), g[2], g[0]);
    const vector_float even_b = vector_set(1 / WINOGRAD_NB) * vector_fma(vector_set(WINOGRAD_B2), g[2], g[0]);
    const vector_float odd_a = vector_set(WINOGRAD_A / WINOGRAD_NA), odd_b = vector_set(WINOGRAD_B / WINOGRAD_NB);
    u[0] = vector_set(1 / WINOGRAD_N0) * g[0];
    u[1] = vector_fma(odd_a, g[1], even_a);
    u[2] = vector_fma(-odd_a, g[1], even_a);
    u[3] = vector_fma(odd_b, g[1], even_b);
    u[4] = vector_fma(-odd_b, g[1], even_b);
    u[5] = g[2];
}

/* A^T: m + 2 cells to m. */
LIANA__INLINE void winograd_output(const int m, const vector_float *s, vector_float *y)
{
    if (m == 3) {
        const vector_float even = s[1] + s[2], odd = s[1] - s[2];
        y[0] = s[0] + (even + s[3]);
        y[1] = vector_fma(vector_set(WINOGRAD_A), odd, vector_set(WINOGRAD_B) * s[3]);
        y[2] = vector_fma(vector_set(WINOGRAD_A2), even, vector_fma(vector_set(WINOGRAD_B2), s[3], s[4]));
        return;
    }
    const vector_float even_a = s[1] + s[2], odd_a = vector_set(WINOGRAD_A) * (s[1] - s[2]);
    const vector_float even_b = s[3] + s[4], odd_b = vector_set(WINOGRAD_B) * (s[3] - s[4]);
    const vector_float a2 = vector_set(WINOGRAD_A2), b2 = vector_set(WINOGRAD_B2);
    y[0] = s[0] + (even_a + even_b);
    y[1] = odd_a + odd_b;
    y[2] = vector_fma(a2, even_a, b2 * even_b);
    y[3] = vector_fma(a2, odd_a, vector_fma(b2, odd_b, s[5]));
}

/* A: m cells to m + 2, for the gradient of the output transform. */
LIANA__INLINE void winograd_gradient(const int m, const vector_float *dy, vector_float *s)
{
    if (m == 3) {
        const vector_float even = vector_fma(vector_set(WINOGRAD_A2), dy[2], dy[0]);
        s[0] = dy[0];
        s[1] = vector_fma(vector_set(WINOGRAD_A), dy[1], even);
        s[2] = vector_fma(vector_set(-WINOGRAD_A), dy[1], even);
        s[3] = vector_fma(vector_set(WINOGRAD_B2), dy[2], vector_fma(vector_set(WINOGRAD_B), dy[1], dy[0]));
        s[4] = dy[2];
        return;
    }
    const vector_float a2 = vector_set(WINOGRAD_A2), b2 = vector_set(WINOGRAD_B2);
    const vector_float even_a = vector_fma(a2, dy[2], dy[0]), odd_a = vector_fma(a2, dy[3], dy[1]);
    const vector_float even_b = vector_fma(b2, dy[2], dy[0]), odd_b = vector_fma(b2, dy[3], dy[1]);
    s[0] = dy[0];
    s[1] = vector_fma(vector_set(WINOGRAD_A), odd_a, even_a);
    s[2] = vector_fma(vector_set(-WINOGRAD_A), odd_a, even_a);
    s[3] = vector_fma(vector_set(WINOGRAD_B), odd_b, even_b);
    s[4] = vector_fma(vector_set(-WINOGRAD_B), odd_b, even_b);
    s[5] = dy[3];
}

/* G^T: m + 2 cells to 3, for the gradient of the kernel transform. */
LIANA__INLINE void winograd_kernel_gradient(const int m, const vector_float *u, vector_float *g)
{
    if (m == 3) {
        const vector_float plus = vector_set(1 / WINOGRAD_3_NA) * u[1];
        const vector_float minus = vector_set(1 / WINOGRAD_3_MINUS_NA) * u[2];
        const vector_float b = vector_set(1 / WINOGRAD_3_NB) * u[3];
        g[0] = vector_fma(vector_set(1 / WINOGRAD_3_N0), u[0], (plus + minus) + b);
        g[1] = vector_fma(vector_set(WINOGRAD_A), plus - minus, vector_set(WINOGRAD_B) * b);
        g[2] = vector_fma(vector_set(WINOGRAD_A2), plus + minus, vector_fma(vector_set(WINOGRAD_B2), b, u[4]));
        return;
    }
    const vector_float even_a = vector_set(1 / WINOGRAD_NA) * (u[1] + u[2]), odd_a = u[1] - u[2];
    const vector_float even_b = vector_set(1 / WINOGRAD_NB) * (u[3] + u[4]), odd_b = u[3] - u[4];
    g[0] = vector_fma(vector_set(1 / WINOGRAD_N0), u[0], even_a + even_b);
    g[1] = vector_fma(vector_set(WINOGRAD_A / WINOGRAD_NA), odd_a, vector_set(WINOGRAD_B / WINOGRAD_NB) * odd_b);
    g[2] = vector_fma(vector_set(WINOGRAD_A2), even_a, vector_fma(vector_set(WINOGRAD_B2), even_b, u[5]));
}

/* ---- two dimensions ---- */

/* Cell [i][j] is cells[i * (m + 2) + j], from element `at` on; `count` elements of it. Cell k of the result goes to
 * target + k * stride. Cells of the next tile, `next` elements further on, are prefetched, since a processor would
 * prefetch few of them by itself. */
LIANA__INLINE void winograd_input_cells(const int m, liana_dtype dtype, const void *const *cells, int64_t at,
                                        int64_t count, int64_t next, float *target, int64_t stride)
{
    vector_float half[WINOGRAD_CELLS][WINOGRAD_CELLS], line[WINOGRAD_CELLS], made[WINOGRAD_CELLS];
#pragma GCC unroll 6
    for (int j = 0; j < m + 2; j++) {
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) {
            line[i] = vector_load_up_to(dtype, cells[i * (m + 2) + j], at, count);
            if (j >= 2) __builtin_prefetch(vector_at(dtype, cells[i * (m + 2) + j], at + next), 0, 3);
        }
        winograd_input(m, line, made);
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) half[i][j] = made[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < m + 2; i++) {
        winograd_input(m, half[i], made);
#pragma GCC unroll 6
        for (int j = 0; j < m + 2; j++) {
            vector_store_up_to(LIANA_F32, target + (i * (m + 2) + j) * stride, 0, made[j], count);
        }
    }
}

/* The same for the m x m cells of the result's gradient. */
LIANA__INLINE void winograd_gradient_cells(const int m, liana_dtype dtype, const void *const *cells, int64_t at,
                                           int64_t count, int64_t next, float *target, int64_t stride)
{
    vector_float half[WINOGRAD_CELLS][WINOGRAD_RESULTS], line[WINOGRAD_RESULTS], made[WINOGRAD_CELLS];
#pragma GCC unroll 4
    for (int j = 0; j < m; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < m; i++) {
            line[i] = vector_load_up_to(dtype, cells[i * m + j], at, count);
            __builtin_prefetch(vector_at(dtype, cells[i * m + j], at + next), 0, 3);
        }
        winograd_gradient(m, line, made);
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) half[i][j] = made[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < m + 2; i++) {
        winograd_gradient(m, half[i], made);
#pragma GCC unroll 6
        for (int j = 0; j < m + 2; j++) {
            vector_store_up_to(LIANA_F32, target + (i * (m + 2) + j) * stride, 0, made[j], count);
        }
    }
}

/* The window's cell k is at source + k * source_stride; whole vectors. */
LIANA__INLINE void winograd_kernel_cells(const int m, const float *source, int64_t source_stride, float *target,
                                         int64_t stride)
{
    vector_float half[WINOGRAD_CELLS][WINOGRAD_WINDOW], line[WINOGRAD_WINDOW], made[WINOGRAD_CELLS];
#pragma GCC unroll 3
    for (int j = 0; j < WINOGRAD_WINDOW; j++) {
#pragma GCC unroll 3
        for (int i = 0; i < WINOGRAD_WINDOW; i++) {
            line[i] = vector_load(source + (i * WINOGRAD_WINDOW + j) * source_stride);
        }
        winograd_kernel(m, line, made);
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) half[i][j] = made[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < m + 2; i++) {
        winograd_kernel(m, half[i], made);
#pragma GCC unroll 6
        for (int j = 0; j < m + 2; j++) vector_store(target + (i * (m + 2) + j) * stride, made[j]);
    }
}

/* Cell k of the sums is at source + k * stride, a whole vector; y[i][j] are the tile's results. */
LIANA__INLINE void winograd_output_cells(const int m, const float *source, int64_t stride,
                                         vector_float (*y)[WINOGRAD_RESULTS])
{
    vector_float half[WINOGRAD_RESULTS][WINOGRAD_CELLS], line[WINOGRAD_CELLS], made[WINOGRAD_RESULTS];
#pragma GCC unroll 6
    for (int j = 0; j < m + 2; j++) {
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) line[i] = vector_load(source + (i * (m + 2) + j) * stride);
        winograd_output(m, line, made);
#pragma GCC unroll 4
        for (int i = 0; i < m; i++) half[i][j] = made[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < m; i++) winograd_output(m, half[i], y[i]);
}

/* Cell k of the transformed window's gradient is at source + k * stride, a whole vector; g[i][j] is the window's. */
LIANA__INLINE void winograd_kernel_gradient_cells(const int m, const float *source, int64_t stride,
                                                  vector_float (*g)[WINOGRAD_WINDOW])
{
    vector_float half[WINOGRAD_WINDOW][WINOGRAD_CELLS], line[WINOGRAD_CELLS], made[WINOGRAD_WINDOW];
#pragma GCC unroll 6
    for (int j = 0; j < m + 2; j++) {
#pragma GCC unroll 6
        for (int i = 0; i < m + 2; i++) line[i] = vector_load(source + (i * (m + 2) + j) * stride);
        winograd_kernel_gradient(m, line, made);
#pragma GCC unroll 3
        for (int i = 0; i < WINOGRAD_WINDOW; i++) half[i][j] = made[i];
    }
#pragma GCC unroll 3
    for (int i = 0; i < WINOGRAD_WINDOW; i++) winograd_kernel_gradient(m, half[i], g[i]);
}

#endif
