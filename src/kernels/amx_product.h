/* amx_product.h - products of matrices of bf16 on the tiles of AMX: what matrix_product.h is for vectors, under the
 * same names.
 *
 * A block of C is 32 rows by 32 columns: four tiles of sums, two of each operand, and for each step of 32 along the sum
 * four loads and four dot products. B lies in panels of 32 columns, each of which stays in the L1 cache while all rows
 * pass (up to a depth of some 500), and the rows that pass stay in L2 for the next panel. Blocks leave through a buffer
 * of floats. Where all of B
 * fits half the L2 cache, a block of rows is finished before the next, so that C is written line by line. Sizes decide
 * all cuts, and every element of C is one sum in a fixed order. */
#ifndef LIANA_KERNELS_AMX_PRODUCT_H
#define LIANA_KERNELS_AMX_PRODUCT_H

#include "kernels/amx_pack.h"
#include "kernels/matrix_gather.h"
#include "kernels/vector_epilogue.h"

/* ---- blocks ---- */

/* Tiles for blocks whose two tiles of rows have so many; the second may have none. */
static void configure_tiles(int first_rows, int second_rows)
{
    amx_config config = {.palette = 1};
    for (int tile = 0; tile < AMX_TILES; tile++) {
        const bool right = tile > 5, second = tile == 2 || tile == 3 || tile == 5;
        config.rows[tile] = (uint8_t)(right ? AMX_ROWS : second ? second_rows : first_rows);
        config.row_bytes[tile] = config.rows[tile] > 0 ? AMX_ROW_BYTES : 0;
    }
    amx_configure(&config);
}

/* Steps of both operands. Each takes a tile from either row of tiles on the left, and the panel's one or two. */
typedef struct block_steps {
    const void *left[2];
    int64_t left_stride, left_step; /* from row to row, from step to step, in bytes */
    const tile_unit *right;
    int64_t count;
} block_steps;

LIANA__INLINE void clear_block(const int rows, const int columns)
{
    amx_zero(0);
    if (columns == 2) amx_zero(1);
    if (rows == 2) amx_zero(2);
    if (rows == 2 && columns == 2) amx_zero(3);
}

LIANA__INLINE void add_steps(const int rows, const int columns, const block_steps *steps)
{
    const char *first = steps->left[0], *second = steps->left[1];
    const tile_unit *right = steps->right;
    for (int64_t k = 0; k < steps->count; k++) {
        amx_load(6, right, AMX_ROW_BYTES);
        amx_load(4, first, steps->left_stride);
        amx_dot(0, 4, 6);
        if (columns == 2) {
            amx_load(7, right + TILE_WORDS, AMX_ROW_BYTES);
            amx_dot(1, 4, 7);
        }
        if (rows == 2) {
            amx_load(5, second, steps->left_stride);
            amx_dot(2, 5, 6);
            if (columns == 2) amx_dot(3, 5, 7);
            second += steps->left_step;
        }
        first += steps->left_step;
        right += columns * TILE_WORDS;
    }
}

LIANA__INLINE void store_block(const int rows, const int columns, float (*sums)[PANEL_COLUMNS])
{
    amx_store(0, sums[0], sizeof sums[0]);
    if (columns == 2) amx_store(1, sums[0] + SIDE, sizeof sums[0]);
    if (rows == 2) amx_store(2, sums[SIDE], sizeof sums[0]);
    if (rows == 2 && columns == 2) amx_store(3, sums[SIDE] + SIDE, sizeof sums[0]);
}

/* Where a block of C goes: `rows` by `columns` of it. */
typedef struct block_target {
    void *data;
    int64_t stride; /* in elements */
    int64_t rows, columns;
    bool wide, add;               /* floats; to what is there (floats only) */
    const epilogue *after;        /* what is done to bf16 before they are stored, or NULL; */
    const tile_element *residual; /* added then, laid out like C; NULL: none */
    int64_t first;                /* column of C */
} block_target;

/* One row of a block of bf16 with what follows. */
LIANA__INLINE void finish_row(const float *low, const float *high, int64_t columns, const block_target *target,
                              int64_t at)
{
    const epilogue *e = target->after;
    float row[PANEL_COLUMNS] __attribute__((aligned(64)));
    if (columns > SIDE) {
        store_floats(low, high, columns, row, false);
    } else {
        store_few_floats(low, columns, row, false);
    }
    for (int64_t c = 0; c < columns; c += VECTOR_LENGTH) {
        const int64_t count = at_most(VECTOR_LENGTH, columns - c), channel = target->first + c;
        vector_float x = vector_fma(vector_load_part(row + c, count), vector_load_part(e->scale + channel, count),
                                    vector_load_part(e->shift + channel, count));
        if (target->residual) x += vector_load_part_bf16(target->residual + at + c, count);
        x = e->swish ? vector_swish_bf16(x) : clamp(e, x);
        vector_store_part_bf16((tile_element *)target->data + at + c, x, count);
    }
}

/* `columns` and `wide` are those of the target; where they are constants, no row asks for them. */
LIANA__INLINE void write_rows(float (*sums)[PANEL_COLUMNS], int64_t columns, const bool wide,
                              const block_target *target)
{
    const bool whole = columns > SIDE, add = target->add;
    for (int64_t r = 0; r < target->rows; r++) {
        const float *low = sums[r], *high = low + SIDE;
        float *floats = (float *)target->data + r * target->stride;
        tile_element *elements = (tile_element *)target->data + r * target->stride;
        if (wide && whole) store_floats(low, high, columns, floats, add);
        if (wide && !whole) store_few_floats(low, columns, floats, add);
        if (!wide && whole) store_bf16(low, high, columns, elements);
        if (!wide && !whole) store_few_bf16(low, columns, elements);
    }
}

static void finish_block(float (*sums)[PANEL_COLUMNS], const block_target *target)
{
    for (int64_t r = 0; r < target->rows; r++) {
        const float *low = sums[r], *high = low + SIDE;
        if (target->columns == PANEL_COLUMNS) {
            finish_row(low, high, PANEL_COLUMNS, target, r * target->stride);
        } else {
            finish_row(low, high, target->columns, target, r * target->stride);
        }
    }
}

static void write_block(float (*sums)[PANEL_COLUMNS], const block_target *target)
{
    const bool full = target->columns == PANEL_COLUMNS;
    if (target->after) finish_block(sums, target);
    if (target->after) return;
    if (target->wide && full) write_rows(sums, PANEL_COLUMNS, true, target);
    if (target->wide && !full) write_rows(sums, target->columns, true, target);
    if (!target->wide && full) write_rows(sums, PANEL_COLUMNS, false, target);
    if (!target->wide && !full) write_rows(sums, target->columns, false, target);
}

LIANA__INLINE void sized_block(const int rows, const int columns, const block_steps *steps, const block_steps *tail,
                               const block_target *target)
{
    float sums[2 * SIDE][PANEL_COLUMNS] __attribute__((aligned(64)));
    clear_block(rows, columns);
    add_steps(rows, columns, steps);
    add_steps(rows, columns, tail);
    store_block(rows, columns, sums);
    write_block(sums, target);
}

/* One block of C: a sum over both runs of steps. */
static void multiply_block(const block_steps *steps, const block_steps *tail, const block_target *target)
{
    const bool rows = target->rows > SIDE, columns = target->columns > SIDE;
    if (rows && columns) sized_block(2, 2, steps, tail, target);
    if (rows && !columns) sized_block(2, 1, steps, tail, target);
    if (!rows && columns) sized_block(1, 2, steps, tail, target);
    if (!rows && !columns) sized_block(1, 1, steps, tail, target);
}

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

/* C: `stride` is in elements; floats if `wide`, else as A's elements. */
typedef struct product_target {
    void *data;
    int64_t stride;
    bool wide;
    const epilogue *after;        /* what is done to sums before they are stored, or NULL; bf16 only */
    const tile_element *residual; /* added then, laid out like C; NULL: none */
} product_target;

/* C from row `first` on. */
static product_target target_from(const product_target *target, int64_t first)
{
    product_target part = *target;
    const int64_t at = first * target->stride;
    part.data = (char *)target->data + at * (int64_t)(target->wide ? sizeof(float) : sizeof(tile_element));
    if (target->residual) part.residual = target->residual + at;
    return part;
}

/* Rows of A that all panels take before the next: they stay in the L2 cache. What is left of their depth behind whole
 * steps is copied, with zeros, to a buffer on the stack. */
enum { BYTES_AT_ONCE = 512 << 10, ROWS_AT_ONCE = 256, PANELS_AT_ONCE = 512 << 10, TILE_ROWS = 2 * SIDE };

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

/* How A^T B is computed: C as it is, or its transpose B^T A (then `rows` are B's columns). */
typedef struct columns_plan {
    bool swapped;
    int64_t rows, columns;                      /* of what is computed */
    int64_t block;                              /* of the sum, whose operands are packed together */
    int64_t left_size, right_size, result_size; /* of scratch, in units */
    int64_t room_size;                          /* for rows of A that must be gathered, in elements */
} columns_plan;

/* Long sums are sums of sums of about so many products. */
enum { DEPTH_AT_ONCE = 512 };

/* Making a tile for the left takes some 48 cycles, for the right 16, and transposing a result one for each element: the
 * left should be the narrow one, where that pays. */
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
    static const block_steps none = {.count = 0};
    float *const result = target->data;
    for (int64_t row = 0; row < plan->rows; row += 2 * SIDE) {
        const tile_unit *first = left + row / SIDE * steps * TILE_WORDS;
        const block_steps block = {{first, first + steps * TILE_WORDS}, AMX_ROW_BYTES, AMX_TILE_BYTES, right, steps};
        target->rows = at_most(2 * SIDE, plan->rows - row);
        target->data = result + row * target->stride;
        multiply_block(&block, &none, target);
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
    pack_left(rows->left, plan->rows, rows->depth, scratch);
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
