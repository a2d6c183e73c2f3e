/* amx_product.h - products of bf16 matrices on the tiles of AMX, with the names of matrix_product.h, which does the
 * same for vectors.
 *
 * B is in panels of 32 columns. Each panel stays in the L1 cache while all rows pass (up to a depth of about 500), and
 * the rows stay in L2 for the next panel. All cuts depend on sizes, and every element of C is one sum in a fixed order.
 * (Prefetching as in matrix_product.h was slower: a step has too few other instructions.) */
#ifndef LIANA_KERNELS_AMX_PRODUCT_H
#define LIANA_KERNELS_AMX_PRODUCT_H

#include "kernels/amx_block.h"
#include "kernels/matrix_gather.h"

/* ---- rows ---- */

/* A matrix [depth, columns] in panels. */
typedef struct packed_matrix {
    int64_t depth, columns;
    const tile_unit *units;
} packed_matrix;

static packed_matrix plan_matrix(int64_t depth, int64_t columns)
{
    return (packed_matrix){depth, columns, NULL};
}

static inline int64_t count_panels(const packed_matrix *matrix)
{
    return divide_round_up(matrix->columns, PANEL_COLUMNS);
}

static inline int64_t count_steps(const packed_matrix *matrix)
{
    return divide_round_up(matrix->depth, STEP_ELEMENTS);
}

/* In bytes. */
static inline size_t packed_size(const packed_matrix *matrix)
{
    return (size_t)(count_steps(matrix) * divide_round_up(matrix->columns, SIDE)) * AMX_TILE_BYTES;
}

/* In units, from one panel to the next. */
static inline int64_t panel_size(const packed_matrix *matrix)
{
    return count_steps(matrix) * 2 * TILE_WORDS;
}

/* Packs [depth, columns], or [columns, depth] if transposed, into `units`, of packed_size bytes. */
static void pack_matrix(const packed_matrix *matrix, const tile_element *source, bool transposed, tile_unit *units)
{
    for (int64_t i = 0; i < count_panels(matrix); i++) {
        const int64_t first = i * PANEL_COLUMNS, count = at_most(PANEL_COLUMNS, matrix->columns - first);
        tile_unit *target = units + i * panel_size(matrix);
        if (transposed) {
            pack_right_transposed(source + first * matrix->depth, matrix->depth, matrix->depth, count, target);
        } else {
            pack_right(source + first, matrix->columns, matrix->depth, count, target);
        }
    }
}

/* Rows of A that all panels take before the next rows: they stay in the L2 cache. The rest of their depth after whole
 * steps is copied, with zeros, to a buffer on the stack. */
enum { BYTES_AT_ONCE = 512 << 10, ROWS_AT_ONCE = 256, TILE_ROWS = 2 * SIDE };

typedef struct row_source {
    const tile_element *data;
    int64_t stride;             /* in elements */
    const tile_element *behind; /* [rows][STEP_ELEMENTS], or NULL */
} row_source;

static void multiply_row_block(const row_source *a, int64_t row, const packed_matrix *b, int64_t panel,
                               block_target *target)
{
    const int64_t whole = b->depth / STEP_ELEMENTS, first = panel * PANEL_COLUMNS;
    const tile_element *left = a->data + row * a->stride, *behind = a->behind ? a->behind + row * STEP_ELEMENTS : NULL;
    target->columns = at_most(PANEL_COLUMNS, b->columns - first);
    const int64_t tiles = target->columns > SIDE ? 2 : 1;
    const tile_unit *right = b->units + panel * panel_size(b);
    const block_steps steps = {
        {left, left + SIDE * a->stride}, a->stride * (int64_t)sizeof *left, AMX_ROW_BYTES, right, whole};
    const block_steps tail = {{behind, behind ? behind + SIDE * STEP_ELEMENTS : NULL},
                              AMX_ROW_BYTES,
                              0,
                              right + whole * tiles * TILE_WORDS,
                              behind ? 1 : 0};
    multiply_block(&steps, &tail, target);
}

/* Panels [first, end) of B's. */
typedef struct panel_range {
    int64_t first, end;
} panel_range;

/* Rows [begin, end), which the tiles are configured for, at most ROWS_AT_ONCE. */
static void multiply_row_blocks(int64_t begin, int64_t end, row_source a, const packed_matrix *b, panel_range panels,
                                const product_target *c)
{
    tile_element behind[ROWS_AT_ONCE * STEP_ELEMENTS] __attribute__((aligned(64)));
    const int64_t left = b->depth % STEP_ELEMENTS;
    a.data += begin * a.stride;
    for (int64_t row = 0; row < end - begin && left > 0; row++) {
        copy_step(a.data + row * a.stride + (b->depth - left), left, behind + row * STEP_ELEMENTS);
    }
    if (left > 0) a.behind = behind;
    const int64_t count = panels.end - panels.first, blocks = divide_round_up(end - begin, 2 * SIDE);
    const bool rows_first = count * panel_size(b) * (int64_t)sizeof(tile_unit) <= PANELS_AT_ONCE;
    for (int64_t k = 0; k < count * blocks; k++) {
        const int64_t panel = panels.first + (rows_first ? k % count : k / blocks);
        const int64_t row = (rows_first ? k / count : k % blocks) * 2 * SIDE;
        const int64_t at = (begin + row) * c->stride + panel * PANEL_COLUMNS;
        block_target target = {.stride = c->stride, .rows = at_most(2 * SIDE, end - begin - row), .wide = c->wide};
        target.data = (char *)c->data + at * (int64_t)(c->wide ? sizeof(float) : sizeof(tile_element));
        target.after = c->after;
        target.residual = c->residual ? c->residual + at : NULL;
        target.first = panel * PANEL_COLUMNS;
        multiply_row_block(&a, row, b, panel, &target);
    }
}

/* Rows [0, rows) of C = A B, the columns of B's panels [first_panel, end_panel). */
static void multiply_panels(int64_t rows, const tile_element *a, int64_t a_stride, const packed_matrix *b,
                            int64_t first_panel, int64_t end_panel, const product_target *c)
{
    const int64_t whole = rows / (2 * SIDE) * (2 * SIDE), bytes = a_stride * (int64_t)sizeof *a;
    const int64_t room = BYTES_AT_ONCE / bytes / (2 * SIDE) * (2 * SIDE);
    const int64_t block = room < 2 * SIDE ? 2 * SIDE : at_most(room, ROWS_AT_ONCE);
    const row_source source = {a, a_stride, NULL};
    const panel_range panels = {first_panel, end_panel};
    if (whole > 0) configure_tiles(SIDE, SIDE);
    for (int64_t begin = 0; begin < whole; begin += block) {
        multiply_row_blocks(begin, at_most(begin + block, whole), source, b, panels, c);
    }
    if (rows > whole) {
        const int left = (int)(rows - whole);
        configure_tiles(left < SIDE ? left : SIDE, left > SIDE ? left - SIDE : 0);
        multiply_row_blocks(whole, rows, source, b, panels, c);
    }
    amx_release();
}

/* ---- columns ---- */

/* How A^T B is computed: as C, or as its transpose B^T A (then `rows` are B's columns). */
typedef struct columns_plan {
    bool swapped;
    int64_t rows, columns;                      /* of the computed part */
    int64_t block;                              /* of the sum, whose operands are packed together */
    int64_t left_size, right_size, result_size; /* of scratch, in units */
    int64_t room_size;                          /* for rows of A that must be gathered, in elements */
} columns_plan;

/* Long sums are sums of sums of about this many products. */
enum { DEPTH_AT_ONCE = 512 };

/* Chooses the order. Making a tile for the left takes about 48 cycles, for the right 16, and transposing a result one
 * cycle for each element. So the left operand should be the narrow one, if that gains more than the transposition
 * costs. */
static columns_plan plan_columns(int64_t depth, int64_t a_columns, int64_t b_columns)
{
    const double saved = (double)depth / STEP_ELEMENTS * (48 - 16) * (double)(a_columns - b_columns) / SIDE;
    columns_plan plan = {.swapped = saved > (double)a_columns * (double)b_columns};
    plan.rows = plan.swapped ? b_columns : a_columns;
    plan.columns = plan.swapped ? a_columns : b_columns;
    const int64_t blocks = (depth + DEPTH_AT_ONCE / 2) / DEPTH_AT_ONCE;
    plan.block = divide_round_up(depth, STEP_ELEMENTS * (blocks > 0 ? blocks : 1)) * STEP_ELEMENTS;
    plan.left_size = divide_round_up(plan.rows, SIDE) * (plan.block / STEP_ELEMENTS) * TILE_WORDS;
    plan.right_size = 2 * (plan.block / STEP_ELEMENTS) * TILE_WORDS;
    if (plan.swapped) plan.result_size = plan.rows * plan.columns;
    plan.room_size = at_most(plan.block, depth) * a_columns;
    return plan;
}

/* In bytes. */
static size_t columns_scratch(int64_t depth, int64_t a_columns, int64_t b_columns, bool gathered)
{
    const columns_plan plan = plan_columns(depth, a_columns, b_columns);
    return (size_t)(plan.left_size + plan.right_size + plan.result_size) * sizeof(tile_unit) +
           (size_t)(gathered ? plan.room_size : 0) * sizeof(tile_element);
}

/* One panel of C's columns, for `steps` of the sum. */
static void multiply_columns_panel(const columns_plan *plan, const tile_unit *left, const tile_unit *right,
                                   int64_t steps, block_target *target)
{
    float *const result = target->data;
    for (int64_t row = 0; row < plan->rows; row += 2 * SIDE) {
        const tile_unit *first = left + row / SIDE * steps * TILE_WORDS;
        const block_steps block = {{first, first + steps * TILE_WORDS}, AMX_ROW_BYTES, AMX_TILE_BYTES, right, steps};
        target->rows = at_most(2 * SIDE, plan->rows - row);
        target->data = result + row * target->stride;
        multiply_block(&block, NULL, target);
    }
}

/* Rows of both operands. */
typedef struct columns_rows {
    const tile_element *left, *right;
    int64_t depth;
} columns_rows;

/* All panels of C for these rows. */
static void multiply_columns_block(const columns_plan *plan, const columns_rows *rows, float *c, bool add,
                                   tile_unit *scratch)
{
    tile_unit *const packed_right = scratch + plan->left_size;
    const int64_t steps = divide_round_up(rows->depth, STEP_ELEMENTS);
    const left_layout tiles = {steps * 2 * TILE_WORDS, 2 * TILE_WORDS, STEP_ELEMENTS};
    pack_left(rows->left, plan->rows, rows->depth, tiles, (tile_element *)scratch);
    for (int64_t first = 0; first < plan->columns; first += PANEL_COLUMNS) {
        block_target target = {.data = c + first,
                               .stride = plan->columns,
                               .columns = at_most(PANEL_COLUMNS, plan->columns - first),
                               .wide = true,
                               .add = add};
        pack_right(rows->right + first, plan->columns, rows->depth, target.columns, packed_right);
        multiply_columns_panel(plan, scratch, packed_right, divide_round_up(rows->depth, STEP_ELEMENTS), &target);
    }
}

/* C [A's columns, b_columns] = A^T B, floats. */
static void multiply_columns(int64_t depth, product_rows a, const tile_element *b, int64_t b_columns, float *c,
                             void *scratch)
{
    const columns_plan plan = plan_columns(depth, a.size, b_columns);
    float *swapped = (float *)scratch + plan.left_size + plan.right_size, *result = plan.swapped ? swapped : c;
    a.room = (tile_element *)(swapped + plan.result_size);
    configure_tiles(SIDE, SIDE);
    for (int64_t first = 0; first < depth; first += plan.block) {
        const int64_t count = at_most(plan.block, depth - first);
        const tile_element *of_a = gather_rows(&a, first, count), *of_b = b + first * b_columns;
        columns_rows rows = {of_a, of_b, count};
        if (plan.swapped) rows = (columns_rows){of_b, of_a, count};
        multiply_columns_block(&plan, &rows, result, first > 0, scratch);
    }
    amx_release();
    if (plan.swapped) transpose_words(swapped, plan.columns, plan.rows, plan.columns, c, plan.rows);
}

#endif
