/* few_rows.kernels.h - products of a few rows with a matrix that is read once, as it is in memory: a dense layer's
 * answer to a single example. The memory bounds them, so the matrix is not packed, and its columns are cut into tiles
 * for several threads. For one instruction set. */
#define LIANA__VECTOR_KERNEL_PREFIX "few_rows_"

#include "kernels/applicable.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/linear/matmul.h"

#include <string.h>

enum {
    MOST_ROWS = 7, /* from 8 on a packed matrix pays */
    DEPTH_AT_ONCE = 4,
    STRIP = 2048 / LIANA_VECTOR_BYTES, /* vectors of sums that stay in the L1 cache while rows of B pass */
    LEAST_TILE_BYTES = 128 << 10,      /* of B */
    TILE_COLUMNS = 64,                 /* a tile has a multiple of these */
};

static double matrix_bytes(const liana__node *node)
{
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    return (double)sizes.k * (double)sizes.n * (double)liana_dtype_size(node->inputs[1]->dtype);
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    const liana__matmul_attributes *options = node->attributes;
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    if (!liana__applicable_f32_bf16(node, reason)) return false;
    *reason = "a transposed operand, or several products";
    if (options->transpose_a || options->transpose_b || sizes.batch != 1) return false;
    *reason = "more than a few rows";
    return sizes.m <= MOST_ROWS;
}

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    (void)isa;
    *reason = "a matrix that one thread reads as fast";
    return matrix_bytes(node) >= 2.0 * LEAST_TILE_BYTES && liana__matmul_sizes_of(node).n >= 2 * TILE_COLUMNS;
}

/* A strip of C: `vectors` of columns from `first` on, the last of `last` lanes. */
typedef struct strip {
    const void *a, *b;
    int64_t depth, columns, first, vectors, last;
} strip;

/* Adds DEPTH rows of B, from k on, to the sums of a row of C. */
LIANA__INLINE void add_rows(const int depth, liana_dtype dtype, const strip *s, int64_t k, const float *a, float *sums)
{
    for (int64_t v = 0; v < s->vectors; v++) {
        const int64_t column = s->first + v * VECTOR_LENGTH;
        const int64_t lanes = v + 1 < s->vectors ? VECTOR_LENGTH : s->last;
        vector_float sum = vector_load(sums + v * VECTOR_LENGTH);
#pragma GCC unroll 4
        for (int i = 0; i < depth; i++) {
            const vector_float row = vector_load_up_to(dtype, s->b, (k + i) * s->columns + column, lanes);
            sum = vector_fma(vector_set(a[i]), row, sum);
        }
        vector_store(sums + v * VECTOR_LENGTH, sum);
    }
}

/* The part of a row of B that the next block reads begins in another page, which the processor does not foresee. */
LIANA__INLINE void fetch_rows(liana_dtype dtype, const strip *s, int64_t k)
{
    const int64_t size = dtype == LIANA_BF16 ? 2 : 4, bytes = ((s->vectors - 1) * VECTOR_LENGTH + s->last) * size;
    for (int64_t i = k; i < k + DEPTH_AT_ONCE && i < s->depth; i++) {
        const char *row = (const char *)s->b + (i * s->columns + s->first) * size;
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 0, 3);
    }
}

LIANA__INLINE void run_strip(liana_dtype dtype, const strip *s, int64_t rows, const liana__call *call)
{
    float sums[MOST_ROWS][STRIP * VECTOR_LENGTH] __attribute__((aligned(64)));
    for (int64_t r = 0; r < rows; r++) memset(sums[r], 0, (size_t)(s->vectors * VECTOR_LENGTH) * sizeof(float));
    for (int64_t k = 0; k < s->depth; k += DEPTH_AT_ONCE) {
        const int64_t count = s->depth - k < DEPTH_AT_ONCE ? s->depth - k : DEPTH_AT_ONCE;
        fetch_rows(dtype, s, k + DEPTH_AT_ONCE);
        for (int64_t r = 0; r < rows; r++) {
            float a[DEPTH_AT_ONCE];
            for (int64_t i = 0; i < count; i++) a[i] = vector_load_one(dtype, s->a, r * s->depth + k + i);
            if (count == DEPTH_AT_ONCE) {
                add_rows(DEPTH_AT_ONCE, dtype, s, k, a, sums[r]);
            } else {
                for (int64_t i = 0; i < count; i++) add_rows(1, dtype, s, k + i, a + i, sums[r]);
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t v = 0; v < s->vectors; v++) {
            const int64_t to = r * s->columns + s->first + v * VECTOR_LENGTH;
            const int64_t lanes = v + 1 < s->vectors ? VECTOR_LENGTH : s->last;
            vector_store_up_to(call->node->dtype, call->dst, to, vector_load(sums[r] + v * VECTOR_LENGTH), lanes);
        }
    }
}

/* Columns [begin, end). */
LIANA__INLINE void run_columns(liana_dtype dtype, const liana__matmul_sizes *sizes, int64_t begin, int64_t end,
                               const liana__call *call)
{
    const int64_t width = STRIP * VECTOR_LENGTH;
    for (int64_t first = begin; first < end; first += width) {
        const int64_t count = end - first < width ? end - first : width;
        const int64_t vectors = (count + VECTOR_LENGTH - 1) / VECTOR_LENGTH;
        const strip s = {
            call->src[0], call->src[1], sizes->k, sizes->n, first, vectors, count - (vectors - 1) * VECTOR_LENGTH};
        run_strip(dtype, &s, sizes->m, call);
    }
}

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    const int64_t units = (sizes.n + TILE_COLUMNS - 1) / TILE_COLUMNS;
    prepared->num_tiles = (size_t)liana__count_tiles(matrix_bytes(node), LEAST_TILE_BYTES, units);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(call->node);
    const int64_t units = (sizes.n + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int64_t tiles = call->num_tiles > 1 ? (int64_t)call->num_tiles : 1;
    const int64_t tile = call->num_tiles > 1 ? (int64_t)call->tile : 0;
    const int64_t begin = tile * units / tiles * TILE_COLUMNS;
    int64_t end = (tile + 1) * units / tiles * TILE_COLUMNS;
    if (end > sizes.n) end = sizes.n;
    if (call->node->inputs[0]->dtype == LIANA_BF16) {
        run_columns(LIANA_BF16, &sizes, begin, end, call);
    } else {
        run_columns(LIANA_F32, &sizes, begin, end, call);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(few_rows, .applicable = is_applicable, .preferred = is_preferred, .run = run, .cut = cut);
