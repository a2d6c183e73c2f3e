/* pool2d.kernels.h - pooling of f32 or bf16, for one instruction set. Vectors run over the channels of one pixel. */
#include "base/memory.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/pool/pool2d.h"

/* The part of a window inside its image. */
typedef struct pool_window {
    int64_t out;         /* the first channel of its result, in elements from the start of y */
    int64_t image;       /* the first element of its image, from the start of x */
    int64_t row, column; /* its first pixel */
    int64_t rows, columns;
    int64_t row_step, column_step; /* in elements */
} pool_window;

static pool_window window_of(const liana__geometry *g, int64_t n, int64_t row, int64_t column)
{
    int64_t begin[2], end[2];
    liana__pool_taps(g, 0, row, &begin[0], &end[0]);
    liana__pool_taps(g, 1, column, &begin[1], &end[1]);
    return (pool_window){
        .out = ((n * g->output[0] + row) * g->output[1] + column) * g->channels,
        .image = n * g->input[0] * g->input[1] * g->channels,
        .row = row * g->strides[0] - g->padding_low[0] + begin[0],
        .column = column * g->strides[1] - g->padding_low[1] + begin[1],
        .rows = end[0] - begin[0],
        .columns = end[1] - begin[1],
        .row_step = g->input[1] * g->channels,
        .column_step = g->channels,
    };
}

/* Its first element, from the start of x. */
static int64_t first_element(const pool_window *w)
{
    return w->image + w->row * w->row_step + w->column * w->column_step;
}

typedef void window_function(liana_dtype dtype, const liana__geometry *g, const pool_window *window,
                             const liana__call *call);

/* A thread's tile is rows of images. It should read at least this many bytes. */
enum { LEAST_TILE_BYTES = 64 << 10 };

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const double bytes = (double)liana__byte_size(node->inputs[0]->dtype, liana__input_shape(node, 0));
    const int64_t rows = node->shape.dims[0] * node->shape.dims[1];
    prepared->num_tiles = (size_t)liana__count_tiles(bytes, LEAST_TILE_BYTES, rows);
    return LIANA_OK;
}

/* The windows in order, all or a tile's. */
LIANA__INLINE liana_status run_windows(liana_dtype dtype, const liana__call *call, window_function *function)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    const int64_t tiles = call->num_tiles > 1 ? (int64_t)call->num_tiles : 1,
                  tile = tiles > 1 ? (int64_t)call->tile : 0;
    const int64_t rows = g.batch * g.output[0];
    for (int64_t row = rows * tile / tiles; row < rows * (tile + 1) / tiles; row++) {
        for (int64_t column = 0; column < g.output[1]; column++) {
            const pool_window window = window_of(&g, row / g.output[0], row % g.output[0], column);
            function(dtype, &g, &window, call);
        }
    }
    return LIANA_OK;
}

/* ---- max: a NaN wins over numbers, the first one over others ---- */

/* Where x takes the place of the greatest so far. */
LIANA__INLINE vector_int wins(vector_float x, vector_float best)
{
    return ~(x <= best) & (best == best);
}

LIANA__INLINE void max_window(liana_dtype dtype, const liana__geometry *g, const pool_window *w,
                              const liana__call *call)
{
    const void *x = vector_at(dtype, call->src[0], first_element(w));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float best = vector_load_up_to(dtype, x, c, left);
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++) {
                vector_float value = vector_load_up_to(dtype, x, i * w->row_step + j * w->column_step + c, left);
                best = vector_select(wins(value, best), value, best);
            }
        }
        vector_store_up_to(dtype, call->dst, w->out + c, best, left);
    }
}

/* ---- average ---- */

LIANA__INLINE void average_window(liana_dtype dtype, const liana__geometry *g, const pool_window *w,
                                  const liana__call *call)
{
    const void *x = vector_at(dtype, call->src[0], first_element(w));
    vector_float count = vector_set((float)(w->rows * w->columns));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float sum = vector_set(0);
        for (int64_t i = 0; i < w->rows; i++) {
            vector_float row_sum = vector_set(0);
            for (int64_t j = 0; j < w->columns; j++) {
                row_sum += vector_load_up_to(dtype, x, i * w->row_step + j * w->column_step + c, left);
            }
            sum += row_sum;
        }
        vector_store_up_to(dtype, call->dst, w->out + c, sum / count, left);
    }
}

/* ---- gradients: windows add to rows of floats. For f32 these are the result's own rows. For bf16 they are in scratch
 * memory, a ring of as many rows as a window has, so that sums are rounded once. ---- */

typedef struct ring {
    float *rows;
    int64_t num_rows; /* row r of the image is row r % num_rows */
    int64_t row_size;
    int64_t begin; /* the first row of the image that is not complete */
    int64_t end;   /* the first that no window has reached */
} ring;

LIANA__INLINE float *ring_row(const ring *r, int64_t row)
{
    return r->rows + row % r->num_rows * r->row_size;
}

/* Rows before `row` are complete. */
LIANA__INLINE void complete_rows(liana_dtype dtype, ring *r, void *image, int64_t row)
{
    for (; r->begin < row; r->begin++) {
        if (r->begin == r->end) { /* between windows */
            memset(ring_row(r, r->end), 0, (size_t)r->row_size * sizeof(float));
            r->end++;
        }
        if (dtype == LIANA_F32) continue;
        const float *from = ring_row(r, r->begin);
        int64_t to = r->begin * r->row_size;
        for (int64_t i = 0; i < r->row_size; i += VECTOR_LENGTH) {
            vector_float sum = vector_load_up_to(LIANA_F32, from, i, r->row_size - i);
            vector_store_up_to(dtype, image, to + i, sum, r->row_size - i);
        }
    }
}

static void reach_rows(ring *r, int64_t end)
{
    for (; r->end < end; r->end++) memset(ring_row(r, r->end), 0, (size_t)r->row_size * sizeof(float));
}

typedef void gradient_function(liana_dtype dtype, const liana__geometry *g, const pool_window *window, const ring *dx,
                               const liana__call *call);

LIANA__INLINE liana_status run_gradient(liana_dtype dtype, const liana__call *call, gradient_function *function)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    int64_t row_size = g.input[1] * g.channels;
    for (int64_t n = 0; n < g.batch; n++) {
        char *image = (char *)call->dst + (size_t)(n * g.input[0] * row_size) * liana_dtype_size(dtype);
        ring dx = {.rows = dtype == LIANA_F32 ? (void *)image : call->scratch,
                   .num_rows = dtype == LIANA_F32 ? g.input[0] : g.window[0],
                   .row_size = row_size};
        for (int64_t row = 0; row < g.output[0]; row++) {
            for (int64_t column = 0; column < g.output[1]; column++) {
                const pool_window window = window_of(&g, n, row, column);
                if (column == 0) {
                    complete_rows(dtype, &dx, image, window.row);
                    reach_rows(&dx, window.row + window.rows);
                }
                function(dtype, &g, &window, &dx, call);
            }
        }
        complete_rows(dtype, &dx, image, g.input[0]);
    }
    return LIANA_OK;
}

static liana_status prepare_gradient(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__geometry g = liana__pool2d_geometry(node);
    size_t row_size = (size_t)(g.input[1] * g.channels) * sizeof(float);
    if (node->dtype == LIANA_BF16) prepared->scratch_size = (size_t)g.window[0] * row_size;
    return LIANA_OK;
}

LIANA__INLINE void add_share(float *at, vector_float share, int64_t left)
{
    vector_store_up_to(LIANA_F32, at, 0, vector_load_up_to(LIANA_F32, at, 0, left) + share, left);
}

/* Finds the index of the maximum in its window, then adds dy there. */
LIANA__INLINE void max_gradient_window(liana_dtype dtype, const liana__geometry *g, const pool_window *w,
                                       const ring *dx, const liana__call *call)
{
    const void *x = vector_at(dtype, call->src[0], first_element(w));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float best = vector_load_up_to(dtype, x, c, left);
        vector_float gradient = vector_load_up_to(dtype, call->src[1], w->out + c, left);
        vector_int winner = {0}, tap = {0};
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++, tap += 1) {
                vector_float value = vector_load_up_to(dtype, x, i * w->row_step + j * w->column_step + c, left);
                vector_int won = wins(value, best);
                best = vector_select(won, value, best);
                winner = (winner & ~won) | (tap & won);
            }
        }
        tap = (vector_int){0};
        for (int64_t i = 0; i < w->rows; i++) {
            float *row = ring_row(dx, w->row + i) + w->column * w->column_step + c;
            for (int64_t j = 0; j < w->columns; j++, tap += 1) {
                vector_float share = (vector_float)((vector_int)gradient & (winner == tap));
                add_share(row + j * w->column_step, share, left);
            }
        }
    }
}

LIANA__INLINE void average_gradient_window(liana_dtype dtype, const liana__geometry *g, const pool_window *w,
                                           const ring *dx, const liana__call *call)
{
    vector_float count = vector_set((float)(w->rows * w->columns));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float share = vector_load_up_to(dtype, call->src[0], w->out + c, left) / count;
        for (int64_t i = 0; i < w->rows; i++) {
            float *row = ring_row(dx, w->row + i) + w->column * w->column_step + c;
            for (int64_t j = 0; j < w->columns; j++) add_share(row + j * w->column_step, share, left);
        }
    }
}

/* ---- the kernels ---- */

LIANA__INLINE liana_status max_as(const liana__call *call, liana_dtype dtype)
{
    return run_windows(dtype, call, max_window);
}

LIANA__INLINE liana_status max_gradient_as(const liana__call *call, liana_dtype dtype)
{
    return run_gradient(dtype, call, max_gradient_window);
}

LIANA__INLINE liana_status average_as(const liana__call *call, liana_dtype dtype)
{
    return run_windows(dtype, call, average_window);
}

LIANA__INLINE liana_status average_gradient_as(const liana__call *call, liana_dtype dtype)
{
    return run_gradient(dtype, call, average_gradient_window);
}

static liana_status run_max(const liana__call *call)
{
    return vector_run_as(call, max_as);
}

static liana_status run_max_gradient(const liana__call *call)
{
    return vector_run_as(call, max_gradient_as);
}

static liana_status run_average(const liana__call *call)
{
    return vector_run_as(call, average_as);
}

static liana_status run_average_gradient(const liana__call *call)
{
    return vector_run_as(call, average_gradient_as);
}

LIANA__VECTOR_KERNEL(max_pool2d, .applicable = vector_applicable, .run = run_max, .cut = cut);
LIANA__VECTOR_KERNEL(max_pool2d_gradient, .applicable = vector_applicable, .prepare = prepare_gradient,
                     .run = run_max_gradient);
LIANA__VECTOR_KERNEL(average_pool2d, .applicable = vector_applicable, .run = run_average, .cut = cut);
LIANA__VECTOR_KERNEL(average_pool2d_gradient, .applicable = vector_applicable, .prepare = prepare_gradient,
                     .run = run_average_gradient);
