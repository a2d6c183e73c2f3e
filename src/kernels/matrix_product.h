/* matrix_product.h - matrix products, cut into tiles (matrix_tile.h).
 *
 * Two forms, both with the large operands as they are in memory, row-major:
 *
 *   rows     C [m, n] = A [m, k] B, where B (a layer's weights, [k, n] or transposed [n, k]) is packed first
 *   columns  C [a, b] = A^T B for A [depth, a] and B [depth, b], a sum over very many rows (a gradient of weights)
 *
 * The cuts depend only on the sizes, and every element of C is one sum in a fixed order. */
#ifndef LIANA_KERNELS_MATRIX_PRODUCT_H
#define LIANA_KERNELS_MATRIX_PRODUCT_H

#include "kernels/matrix_pack.h"

#include "kernels/matrix_gather.h"
#include "kernels/product_target.h"

/* ---- rows ---- */

/* Bytes of rows of A that all panels take before the next rows: they stay in the L2 cache. For widened rows, bytes of
 * floats. */
#if defined(LIANA__WIDENED)
enum { BYTES_AT_ONCE = 64 << 10, BYTES_AHEAD = 0 };
#else
enum { BYTES_AT_ONCE = 128 << 10, BYTES_AHEAD = 4096 };
#endif

/* A as it is in memory, or widened; strides are in elements. `fetch`: the distance in bytes at which rows are
 * prefetched. */
typedef struct product_source {
    const tile_factor *data;
    int64_t stride;
    int64_t fetch;
} product_source;

LIANA__INLINE vector_float load_elements(const tile_element *source, int64_t count)
{
#if defined(LIANA__STORES_BF16)
    return vector_load_part_bf16(source, count);
#else
    return vector_load_part(source, count);
#endif
}

/* The epilogue on sums whose first element is element `at` of C, in the columns of the panel. */
LIANA__INLINE void finish_tile(const int rows, const int vectors, const product_target *c, const packed_panel *b,
                               int64_t at, vector_float (*sums)[TILE_VECTORS])
{
    const epilogue *e = c->after;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const int64_t first = b->first + v * VECTOR_LENGTH, count = v + 1 < vectors ? VECTOR_LENGTH : b->last;
        const vector_float scale = vector_load_part(e->scale + first, count);
        const vector_float shift = vector_load_part(e->shift + first, count);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) sums[r][v] = vector_fma(sums[r][v], scale, shift);
    }
    if (c->residual) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const tile_element *row = c->residual + at + r * c->stride;
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sums[r][v] += load_elements(row + v * VECTOR_LENGTH, v + 1 < vectors ? VECTOR_LENGTH : b->last);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sums[r][v] = clamp(e, sums[r][v]);
    }
}

/* Rows of sums that wait for swish: its chain of operations is long, and many vectors must be on their way at once. */
enum { WAITING_ROWS = 8 * TILE_ROWS };

/* Applies swish to `rows` waiting rows, which begin at row `first_row` of C. */
static void store_swish(const float *waiting, int64_t rows, int vectors, const packed_panel *b, const product_target *c,
                        int64_t first_row)
{
    tile_element *row = (tile_element *)c->data + first_row * c->stride + b->first;
    for (int64_t r = 0; r < rows; r++, row += c->stride) {
        for (int v = 0; v < vectors; v++, waiting += VECTOR_LENGTH) {
            const vector_float y = epilogue_swish(vector_load(waiting));
            tile_store_elements(1, row + v * VECTOR_LENGTH, v + 1 < vectors ? VECTOR_LENGTH : b->last, &y);
        }
    }
}

/* Stores a tile at `target`, line by line, and adds it to the moments of its columns. */
LIANA__INLINE void store_measured(const int rows, const int vectors, tile_element *target, int64_t stride, int64_t last,
                                  vector_float (*sums)[TILE_VECTORS], vector_moments *moments)
{
#if defined(LIANA__DOTS)
    vector_float sum[TILE_VECTORS], square[TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        sum[v] = vector_load(moments[v].sum);
        square[v] = vector_load(moments[v].square);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 2, target += 2 * stride) {
        __m512i both[TILE_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const vector_float second = r + 1 < rows ? sums[r + 1][v] : vector_set(0);
            both[v] = bf16_round_two((__m512)second, (__m512)sums[r][v]);
            const __mmask16 mask = v + 1 < vectors ? 0xffff : vector_first(last);
            _mm256_mask_storeu_epi16(target + v * VECTOR_LENGTH, mask, _mm512_castsi512_si256(both[v]));
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const __mmask16 mask = v + 1 < vectors ? 0xffff : vector_first(last);
            const __m256i second = _mm512_extracti64x4_epi64(both[v], 1);
            if (r + 1 < rows) _mm256_mask_storeu_epi16(target + stride + v * VECTOR_LENGTH, mask, second);
            moments_add_pairs(moments_pair(both[v]), &sum[v], &square[v]);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        vector_store(moments[v].sum, sum[v]);
        vector_store(moments[v].square, square[v]);
    }
#elif defined(LIANA__STORES_BF16)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        vector_float sum = vector_load(moments[v].sum), square = vector_load(moments[v].square);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            tile_element *at = target + r * stride + v * VECTOR_LENGTH;
            moments_add_stored(vector_store_rounded(at, sums[r][v], v + 1 < vectors ? VECTOR_LENGTH : last), &sum,
                               &square);
        }
        vector_store(moments[v].sum, sum);
        vector_store(moments[v].square, square);
    }
#else
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) tile_store_row(vectors, target + r * stride, last, sums[r]);
    if (!moments->started) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) moments_start(&moments[v], sums[0][v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) moments_add(rows, &sums[0][v], TILE_VECTORS, &moments[v]);
#endif
}

/* Finishes and stores a tile whose sums are those of rows from `first_row` on; or leaves it at `waiting`, unless that
 * is NULL. With moments, the sums are stored and measured, and nothing else. */
LIANA__INLINE void give_tile(const int rows, const int vectors, const packed_panel *b, const product_target *c,
                             int64_t first_row, vector_float (*sums)[TILE_VECTORS], float *waiting)
{
    const int64_t at = first_row * c->stride + b->first;
    if (c->moments) {
        store_measured(rows, vectors, (tile_element *)c->data + at, c->stride, b->last, sums, c->moments);
        return;
    }
    if (c->after) finish_tile(rows, vectors, c, b, at, sums);
    if (waiting) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            tile_store_row(vectors, waiting + r * vectors * VECTOR_LENGTH, VECTOR_LENGTH, sums[r]);
        }
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        if (c->wide) {
            tile_store_row(vectors, (float *)c->data + at + r * c->stride, b->last, sums[r]);
        } else {
            tile_store_elements(vectors, (tile_element *)c->data + at + r * c->stride, b->last, sums[r]);
        }
    }
}

/* Two rows at a time, as moments of bf16 are added. */
LIANA__INLINE void give_pairs(int rows, const int vectors, const packed_panel *b, const product_target *c,
                              int64_t first_row, vector_float (*sums)[TILE_VECTORS], float *waiting)
{
    for (; rows > 1; rows -= 2, first_row += 2, sums += 2) {
        give_tile(2, vectors, b, c, first_row, sums, waiting);
        if (waiting) waiting += 2 * vectors * VECTOR_LENGTH;
    }
    if (rows == 1) give_tile(1, vectors, b, c, first_row, sums, waiting);
}

/* give_tile for the last rows of a matrix, which come once for a panel. */
LIANA__ONE_COPY void give_few(int rows, int vectors, const packed_panel *b, const product_target *c, int64_t first_row,
                              vector_float (*sums)[TILE_VECTORS], float *waiting)
{
    switch (vectors) {
#if LIANA_VECTOR_BYTES == 64
    case 3: give_pairs(rows, 3, b, c, first_row, sums, waiting); break;
#endif
    case 2: give_pairs(rows, 2, b, c, first_row, sums, waiting); break;
    default: give_pairs(rows, 1, b, c, first_row, sums, waiting); break;
    }
}

/* The sums of `rows` rows from `first_row` on. */
LIANA__INLINE void sum_rows(const int rows, const int vectors, const int units, const product_source *a,
                            const packed_panel *b, int64_t first_row, int64_t fetch, vector_float (*sums)[TILE_VECTORS])
{
    const tile_factor *row[TILE_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) row[r] = a->data + (first_row + r) * a->stride;
    tile_clear(rows, vectors, sums);
    tile_add_rows(rows, vectors, units, row, b->units, b->depth, fetch ? (const char *)row[0] + fetch : NULL, sums);
    if (units == 2) tile_fold(rows, vectors, sums);
}

LIANA__INLINE void whole_tile(const int vectors, const int units, const product_source *a, const packed_panel *b,
                              const product_target *c, int64_t first_row, float *waiting)
{
    vector_float sums[TILE_ROWS][TILE_VECTORS];
    sum_rows(TILE_ROWS, vectors, units, a, b, first_row, a->fetch, sums);
    give_tile(TILE_ROWS, (vectors + units - 1) / units, b, c, first_row, sums, waiting);
}

LIANA__INLINE void few_rows(const int rows, const int vectors, const int units, const product_source *a,
                            const packed_panel *b, const product_target *c, int64_t first_row, float *waiting)
{
    vector_float sums[TILE_ROWS][TILE_VECTORS], memory[TILE_ROWS][TILE_VECTORS];
    const int result = (vectors + units - 1) / units;
    sum_rows(rows, vectors, units, a, b, first_row, 0, sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < result; v++) memory[r][v] = sums[r][v];
    }
    give_few(rows, result, b, c, first_row, memory, waiting);
}

LIANA__INLINE void last_rows(const int vectors, const int units, int64_t begin, int64_t end, const product_source *a,
                             const packed_panel *b, const product_target *c, float *waiting)
{
    switch (end - begin) { /* constants, so that the sums are registers */
#if LIANA_VECTOR_BYTES == 64
    case 7: few_rows(7, vectors, units, a, b, c, begin, waiting); break;
    case 6: few_rows(6, vectors, units, a, b, c, begin, waiting); break;
#endif
    case 5: few_rows(5, vectors, units, a, b, c, begin, waiting); break;
    case 4: few_rows(4, vectors, units, a, b, c, begin, waiting); break;
    case 3: few_rows(3, vectors, units, a, b, c, begin, waiting); break;
    case 2: few_rows(2, vectors, units, a, b, c, begin, waiting); break;
    case 1: few_rows(1, vectors, units, a, b, c, begin, waiting); break;
    default: break;
    }
}

/* Ends a block of `rows` rows that were measured, or are waiting for swish in `room`. */
LIANA__ONE_COPY void close_rows(const float *room, int64_t rows, int vectors, const packed_panel *b,
                                const product_target *c, int64_t first_row)
{
    if (!c->moments) {
        store_swish(room, rows, vectors, b, c, first_row);
        return;
    }
    for (int v = 0; v < vectors; v++) moments_close(&c->moments[v], rows);
}

/* Rows [begin, end) of C, the columns of a panel; moments are those of the panel. */
LIANA__INLINE void rows_panel(const int vectors, const int units, int64_t begin, int64_t end, const product_source *a,
                              const packed_panel *b, const product_target *c)
{
    const int result = (vectors + units - 1) / units;
    const bool swish = !c->moments && c->after && c->after->swish;
    const int64_t block = c->moments ? MOMENT_ROWS : swish ? WAITING_ROWS : INT64_MAX;
    float room[WAITING_ROWS * TILE_VECTORS * VECTOR_LENGTH] __attribute__((aligned(64)));
    float *waiting = swish ? room : NULL;
    int64_t first = begin;
    while (begin + TILE_ROWS <= end) {
        whole_tile(vectors, units, a, b, c, begin, waiting);
        begin += TILE_ROWS;
        if (waiting) waiting += TILE_ROWS * result * VECTOR_LENGTH;
        if (begin - first < block) continue;
        close_rows(room, begin - first, result, b, c, first);
        first = begin;
        if (waiting) waiting = room;
    }
    last_rows(vectors, units, begin, end, a, b, c, waiting);
    if (block < INT64_MAX && end > first) close_rows(room, end - first, result, b, c, first);
}

LIANA__INLINE void rows_any_panel(const int units, int64_t begin, int64_t end, const product_source *a,
                                  const packed_panel *b, const product_target *c)
{
    switch (b->vectors) {
#if LIANA_VECTOR_BYTES == 64
    case 3: rows_panel(3, units, begin, end, a, b, c); break;
#endif
    case 2: rows_panel(2, units, begin, end, a, b, c); break;
    default: rows_panel(1, units, begin, end, a, b, c); break;
    }
}

/* How many rows of A all panels take before the next. */
static int64_t rows_at_once(int64_t depth)
{
    const int64_t rows = BYTES_AT_ONCE / (int64_t)sizeof(tile_factor) / depth / TILE_ROWS * TILE_ROWS;
    return rows < 4 * TILE_ROWS ? 4 * TILE_ROWS : rows;
}

#if defined(LIANA__WIDENED)

/* The distance of widened rows. Long rows begin in different sets of the cache: they are an odd number of cache lines
 * apart. */
static int64_t widened_stride(int64_t depth)
{
    enum { LINE = 16, LONG = 128 };
    return depth < LONG ? depth : (divide_round_up(depth, LINE) | 1) * LINE;
}

/* In floats: of the rows of A that are widened at once. */
static int64_t widened_size(int64_t depth)
{
    return rows_at_once(depth) * widened_stride(depth);
}

/* Rows of `depth` elements, as floats. */
static void widen_rows(const tile_element *a, int64_t a_stride, int64_t rows, int64_t depth, float *target)
{
    const int64_t stride = widened_stride(depth);
    if (a_stride == depth && stride == depth) {
        widen(a, rows * depth, target);
        return;
    }
    for (int64_t r = 0; r < rows; r++) widen(a + r * a_stride, depth, target + r * stride);
}

#endif

/* Rows [0, rows) of C = A B, the columns of B's panels [first_panel, end_panel). */
static void multiply_panels(int64_t rows, const tile_element *a, int64_t a_stride, const packed_matrix *b,
                            int64_t first_panel, int64_t end_panel, const product_target *c)
{
    const int64_t block = rows_at_once(b->depth), tile_bytes = TILE_ROWS * a_stride * (int64_t)sizeof *a;
    for (int64_t begin = 0; begin < rows; begin += block) {
        const int64_t count = at_most(block, rows - begin);
        product_target target = target_from(c, begin);
#if defined(LIANA__WIDENED)
        widen_rows(a + begin * a_stride, a_stride, count, b->depth, c->widened);
        product_source source = {c->widened, widened_stride(b->depth), 0};
#else
        product_source source = {a + begin * a_stride, a_stride, 0};
#endif
        for (int64_t i = first_panel; i < end_panel; i++) {
            const packed_panel panel = panel_at(b, i);
            source.fetch = i == first_panel ? divide_round_up(BYTES_AHEAD, tile_bytes) * tile_bytes : 0;
            if (c->moments) target.moments = c->moments + i * TILE_VECTORS;
            if (b->step_units == 2) {
                rows_any_panel(2, 0, count, &source, &panel, &target);
            } else {
                rows_any_panel(1, 0, count, &source, &panel, &target);
            }
        }
    }
}

/* ---- columns ---- */

/* Rows of A and B that a tile adds up in registers: both stay in the caches, and long sums are sums of sums. */
enum { DEPTH_AT_ONCE = 128 * TILE_STEP, STEPS_AT_ONCE = DEPTH_AT_ONCE / TILE_STEP };

/* A block of the sum for one panel of C's columns: added to the existing values, or stored. */
typedef struct columns_block {
    const tile_unit *a, *b;
    int64_t a_stride, a_tile; /* from step to step, from one tile of rows to the next */
    int64_t b_stride, steps;
    int64_t last;                        /* lanes of the last vector */
    const tile_element *next_a, *next_b; /* where the next block begins to read */
    int64_t next_a_stride, next_b_stride;
    float *c;
    int64_t c_stride;
    bool add;
} columns_block;

/* The sums of a block for one tile of rows. */
LIANA__INLINE void sum_columns(const int rows, const int vectors, const columns_block *block, int64_t tile,
                               vector_float (*sums)[TILE_VECTORS])
{
    const tile_unit *a = block->a + tile * block->a_tile;
    tile_prefetch wanted = {(const char *)a, (const char *)block->b, 0, 0};
    if (block->next_a) {
        wanted.left = (const char *)(block->next_a + tile * TILE_ROWS);
        wanted.left_stride = block->next_a_stride * (int64_t)sizeof(tile_element);
    }
    if (tile < 2 && block->next_b) {
        wanted.right = (const char *)block->next_b + tile * 128;
        wanted.right_stride = block->next_b_stride * (int64_t)sizeof(tile_element);
    }
    tile_clear(rows, vectors, sums);
    tile_add_columns(rows, vectors, a, block->a_stride, block->b, block->b_stride, block->last, block->steps, wanted,
                     sums);
}

/* The last tile of a panel, row by row. */
LIANA__ONE_COPY void give_few_columns(int rows, int vectors, const columns_block *block, int64_t tile,
                                      vector_float (*sums)[TILE_VECTORS])
{
    float *c = block->c + tile * TILE_ROWS * block->c_stride;
    for (int r = 0; r < rows; r++, c += block->c_stride) {
        for (int v = 0; v < vectors; v++) {
            const int64_t count = v + 1 < vectors ? VECTOR_LENGTH : block->last;
            float *at = c + v * VECTOR_LENGTH;
            if (block->add) sums[r][v] += vector_load_part(at, count);
            vector_store_part(at, sums[r][v], count);
        }
    }
}

LIANA__INLINE void columns_tile(const int vectors, const columns_block *block, int64_t tile)
{
    vector_float sums[TILE_ROWS][TILE_VECTORS];
    float *c = block->c + tile * TILE_ROWS * block->c_stride;
    sum_columns(TILE_ROWS, vectors, block, tile, sums);
    if (block->add) tile_add_memory(TILE_ROWS, vectors, c, block->c_stride, block->last, sums);
#pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++) tile_store_row(vectors, c + r * block->c_stride, block->last, sums[r]);
}

/* The last tile of a panel. */
LIANA__INLINE void few_columns(const int rows, const int vectors, const columns_block *block, int64_t tile)
{
    vector_float sums[TILE_ROWS][TILE_VECTORS], memory[TILE_ROWS][TILE_VECTORS];
    sum_columns(rows, vectors, block, tile, sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) memory[r][v] = sums[r][v];
    }
    give_few_columns(rows, vectors, block, tile, memory);
}

LIANA__INLINE void columns_panel(const int vectors, int64_t rows, const columns_block *block)
{
    const int64_t whole = rows / TILE_ROWS;
    for (int64_t tile = 0; tile < whole; tile++) columns_tile(vectors, block, tile);
    switch (rows - whole * TILE_ROWS) {
#if LIANA_VECTOR_BYTES == 64
    case 7: few_columns(7, vectors, block, whole); break;
    case 6: few_columns(6, vectors, block, whole); break;
#endif
    case 5: few_columns(5, vectors, block, whole); break;
    case 4: few_columns(4, vectors, block, whole); break;
    case 3: few_columns(3, vectors, block, whole); break;
    case 2: few_columns(2, vectors, block, whole); break;
    case 1: few_columns(1, vectors, block, whole); break;
    default: break;
    }
}

/* How A^T B is computed: as C, or as its transpose B^T A (then `rows` are B's columns). */
typedef struct columns_plan {
    bool swapped;
    int64_t rows, columns;                      /* of the computed part */
    int64_t left_size, right_size, result_size; /* of scratch, in units */
    int64_t room_size;                          /* for rows of A that must be gathered, in elements */
} columns_plan;

/* The operand on the right is cut into whole vectors; a tile of one vector is bound by its loads. */
static int64_t columns_cost(int64_t rows, int64_t columns)
{
    const int64_t vectors = divide_round_up(columns, VECTOR_LENGTH);
    return rows * vectors * (vectors == 1 ? 5 : 4);
}

/* Units of bf16 must be made; floats are taken from where they are. */
#if defined(LIANA__STORES_BF16)
enum { PACK_COLUMNS = true };
#else
enum { PACK_COLUMNS = false };
#endif

static columns_plan plan_columns(int64_t depth, int64_t a_columns, int64_t b_columns)
{
    const int64_t steps = at_most(STEPS_AT_ONCE, divide_round_up(depth, TILE_STEP));
    columns_plan plan = {.swapped = columns_cost(b_columns, a_columns) < columns_cost(a_columns, b_columns)};
    plan.rows = plan.swapped ? b_columns : a_columns;
    plan.columns = plan.swapped ? a_columns : b_columns;
    if (PACK_COLUMNS) {
        plan.left_size = tiled_size(plan.rows, steps * TILE_ROWS);
        plan.right_size = TILE_VECTORS * VECTOR_LENGTH * steps;
    }
    if (plan.swapped) plan.result_size = plan.rows * plan.columns;
    plan.room_size = at_most(DEPTH_AT_ONCE, depth) * a_columns;
    return plan;
}

/* In bytes. */
static size_t columns_scratch(int64_t depth, int64_t a_columns, int64_t b_columns, bool gathered)
{
    const columns_plan plan = plan_columns(depth, a_columns, b_columns);
    return (size_t)(plan.left_size + plan.right_size + plan.result_size) * sizeof(tile_unit) +
           (size_t)(gathered ? plan.room_size : 0) * sizeof(tile_element);
}

/* All panels of C for `depth` rows of the operands; and the place of the next rows, if it is known. */
static void multiply_columns_block(const columns_plan *plan, const tile_element *left, const tile_element *right,
                                   const tile_element *next_left, const tile_element *next_right, int64_t depth,
                                   columns_block *block, tile_unit *scratch)
{
    float *const result = block->c;
    tile_unit *const packed_right = scratch + plan->left_size;
    block->steps = divide_round_up(depth, TILE_STEP);
    block->a = (const tile_unit *)left;
    block->a_stride = plan->rows;
    block->a_tile = TILE_ROWS;
    if (PACK_COLUMNS) {
        pack_tiles(left, plan->rows, depth, scratch);
        block->a = scratch;
        block->a_stride = TILE_ROWS;
        block->a_tile = block->steps * TILE_ROWS;
    }
    const packed_matrix cut = {.columns = plan->columns, .step_units = 1};
    for (int64_t i = 0; i < count_panels(&cut); i++) {
        const packed_panel panel = panel_at(&cut, i);
        block->b = (const tile_unit *)(right + panel.first);
        block->b_stride = plan->columns;
        block->last = panel.last;
        block->c = result + panel.first;
        block->next_a = i == 0 ? next_left : NULL;
        block->next_a_stride = plan->rows;
        block->next_b = next_right ? next_right + panel.first : NULL;
        block->next_b_stride = plan->columns;
        if (PACK_COLUMNS) {
            const int64_t width = panel.vectors * VECTOR_LENGTH;
            pack_steps(right + panel.first, plan->columns, depth, width - VECTOR_LENGTH + panel.last, packed_right,
                       width);
            block->b = packed_right;
            block->b_stride = width;
        }
        switch (panel.vectors) {
#if LIANA_VECTOR_BYTES == 64
        case 3: columns_panel(3, plan->rows, block); break;
#endif
        case 2: columns_panel(2, plan->rows, block); break;
        default: columns_panel(1, plan->rows, block); break;
        }
    }
    block->c = result;
}

/* C [A's columns, b_columns] = A^T B, floats. */
static void multiply_columns(int64_t depth, product_rows a, const tile_element *b, int64_t b_columns, float *c,
                             void *scratch)
{
    const columns_plan plan = plan_columns(depth, a.size, b_columns);
    float *swapped = (float *)scratch + plan.left_size + plan.right_size;
    columns_block block = {.c = plan.swapped ? swapped : c, .c_stride = plan.columns};
    a.room = (tile_element *)(swapped + plan.result_size);
    for (int64_t first = 0; first < depth; first += DEPTH_AT_ONCE) {
        const int64_t count = depth - first < DEPTH_AT_ONCE ? depth - first : DEPTH_AT_ONCE;
        const tile_element *of_a = gather_rows(&a, first, count), *next_of_a = a.grid ? NULL : of_a + count * a.size;
        const tile_element *of_b = b + first * b_columns, *next_of_b = of_b + count * b_columns;
        if (plan.swapped) {
            multiply_columns_block(&plan, of_b, of_a, next_of_b, next_of_a, count, &block, scratch);
        } else {
            multiply_columns_block(&plan, of_a, of_b, next_of_a, next_of_b, count, &block, scratch);
        }
        block.add = true;
    }
    if (plan.swapped) transpose_words(swapped, plan.columns, plan.rows, plan.columns, c, plan.rows);
}

#endif
