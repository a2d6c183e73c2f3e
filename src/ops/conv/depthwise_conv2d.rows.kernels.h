/* depthwise_conv2d.rows.kernels.h - depthwise convolutions and the gradient of their images, row by row in tiles.
 *
 * A row of the result is a sum over a few rows of the source, each with a row of the window's taps (cells). A tile is
 * up to eight neighbouring pixels of it. One vector of channels of the tile is summed in registers: a row of taps is
 * loaded once for the tile, and a pixel of the source once for all taps that it meets. With stride 1, the gradient of
 * the images is the convolution of dy with the reversed window; stride 2 has functions of its own. */
#ifndef LIANA_OPS_DEPTHWISE_ROWS_KERNELS_H
#define LIANA_OPS_DEPTHWISE_ROWS_KERNELS_H

#include "ops/conv/depthwise_conv2d.moments.kernels.h"

/* A tile for a run of channels. Places are in floats from the start of the tensors; those of pixels in the padding are
 * not used. */
typedef struct row_tile {
    const element *source, *kernel;
    element *target;
    int64_t source_at, kernel_at, target_at; /* channel 0 of the tile's first source pixel, of its tap, of the result */
    int64_t source_row, source_column;
    int64_t kernel_row, kernel_column;
    int64_t target_column;
    int64_t num_rows;                 /* that meet the source */
    bool border;                      /* some of the tile's columns of the source are not in the image, but only ... */
    int64_t first_column, end_column; /* ... these; else they are not used */
    int64_t first_target, end_target; /* the tile's columns of the result that are in the image (stride 2's gradient) */
    int64_t channels;
    int64_t first_vector, end_vector;
    const epilogue *after; /* applied to sums before they are stored, or NULL */
    float *waiting;        /* room for sums that wait for swish, whose chain of operations is long; or NULL */
    tile_moments *moments; /* of the result, whose tiles do not overlap; or NULL */
} row_tile;

/* Steps of channels that wait together. */
enum { WAITING_STEPS = 8 };

/* ---- forward, and the gradient of stride 1 ---- */

LIANA__INLINE void add_row(const int parts, const int window, const int stride, const int tile, const bool border,
                           const row_tile *t, int64_t at, int64_t kernel_at, vector_float sums[MAX_TILE][MAX_PARTS])
{
    vector_float taps[MAX_WINDOW][MAX_PARTS], in[MAX_PARTS];
#pragma GCC unroll 8
    for (int k = 0; k < window; k++) load_parts(parts, t->kernel + (kernel_at + k * t->kernel_column), taps[k]);
#pragma GCC unroll 24
    for (int j = 0; j < (tile - 1) * stride + window; j++, at += t->source_column) {
        if (border && (j < t->first_column || j >= t->end_column)) continue;
        load_parts(parts, t->source + at, in);
#pragma GCC unroll 8
        for (int i = 0; i < tile; i++) {
            const int k = j - i * stride;
            if (k < 0 || k >= window) continue;
#pragma GCC unroll 2
            for (int p = 0; p < parts; p++) sums[i][p] = vector_fma(in[p], taps[k][p], sums[i][p]);
        }
    }
}

LIANA__INLINE void add_rows(const int parts, const int window, const int stride, const int tile, const bool border,
                            const row_tile *t, int64_t at, int64_t kernel_at, vector_float sums[MAX_TILE][MAX_PARTS])
{
    for (int64_t row = 0; row < t->num_rows; row++, at += t->source_row, kernel_at += t->kernel_row) {
        add_row(parts, window, stride, tile, border, t, at, kernel_at, sums);
    }
}

/* The first channel of vector v, or of the two from v on. */
LIANA__INLINE int64_t first_channel(const int parts, const row_tile *t, int64_t v)
{
    return parts == 1 ? vector_start(v, t->channels) : v * VECTOR_LENGTH;
}

/* Applies swish to waiting values: vectors [v, end) of a tile of pixels. */
LIANA__INLINE void store_swish(const int parts, const row_tile *t, int tile, int64_t v, int64_t end)
{
    const float *waiting = t->waiting;
    for (; v < end; v += parts) {
        element *target = t->target + (t->target_at + first_channel(parts, t, v));
        for (int i = 0; i < tile; i++, target += t->target_column) {
            vector_float y[MAX_PARTS];
            for (int p = 0; p < parts; p++, waiting += VECTOR_LENGTH) y[p] = epilogue_swish(vector_load(waiting));
            store_parts(parts, target, y);
        }
    }
}

LIANA__ONE_COPY void store_waiting(int parts, const row_tile *t, int tile, int64_t v, int64_t end)
{
    if (parts == MAX_PARTS) {
        store_swish(MAX_PARTS, t, tile, v, end);
    } else {
        store_swish(1, t, tile, v, end);
    }
}

/* The channels from `c` on that `parts` vectors have. Not stored but left at `waiting`, unless that is NULL. */
LIANA__INLINE void run_channels(const int parts, const int window, const int stride, const int tile, const row_tile *t,
                                int64_t c, float *waiting)
{
    vector_float sums[MAX_TILE][MAX_PARTS];
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) {
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) sums[i][p] = vector_set(0);
    }
    int64_t at = t->source_at + c, kernel_at = t->kernel_at + c, target_at = t->target_at + c;
    if (t->border) {
        add_rows(parts, window, stride, tile, true, t, at, kernel_at, sums);
    } else {
        add_rows(parts, window, stride, tile, false, t, at, kernel_at, sums);
    }
    if (t->after) finish_tile(parts, tile, t->after, c, sums);
    if (waiting) {
#pragma GCC unroll 8
        for (int i = 0; i < tile; i++) {
#pragma GCC unroll 2
            for (int p = 0; p < parts; p++) vector_store(waiting + (i * parts + p) * VECTOR_LENGTH, sums[i][p]);
        }
        return;
    }
#if !defined(LIANA__STORES_BF16)
    if (t->moments) measure_sums(tile, sums, &t->moments->vectors[divide_up(c, VECTOR_LENGTH)]);
#endif
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) store_parts(parts, t->target + (target_at + i * t->target_column), sums[i]);
}

/* Vectors [v, end), `parts` at a time. */
LIANA__INLINE void run_vectors(const int parts, const int window, const int stride, const int tile, const row_tile *t,
                               int64_t v, int64_t end)
{
    float *waiting = t->waiting;
    for (int64_t first = v; v < end; v += parts) {
        run_channels(parts, window, stride, tile, t, first_channel(parts, t, v), waiting);
        if (!waiting) continue;
        waiting += tile * parts * VECTOR_LENGTH;
        if (v + parts < end && v + parts < first + WAITING_STEPS * parts) continue;
        store_waiting(parts, t, tile, first, v + parts);
        first = v + parts;
        waiting = t->waiting;
    }
}

LIANA__INLINE void run_tile(const int window, const int stride, const int tile, const row_tile *shared)
{
    const row_tile own = *shared, *t = &own; /* that no store may change */
    const int64_t first = t->first_vector, whole = at_most(t->end_vector, t->channels / VECTOR_LENGTH);
    const int64_t paired = MAX_PARTS == 2 ? first + at_least(0, whole - first) / 2 * 2 : first;
    if (MAX_PARTS == 2) run_vectors(MAX_PARTS, window, stride, tile, t, first, paired);
    run_vectors(1, window, stride, tile, t, paired, t->end_vector);
}

typedef void tile_function(int tile, const row_tile *t);

/* The constants make the sums registers. */
#define TILE_FUNCTION(window, stride)                                     \
    static void run_tile_##window##_##stride(int tile, const row_tile *t) \
    {                                                                     \
        switch (tile) {                                                   \
        case 8: run_tile(window, stride, 8, t); break;                    \
        case 7: run_tile(window, stride, 7, t); break;                    \
        case 6: run_tile(window, stride, 6, t); break;                    \
        case 4: run_tile(window, stride, 4, t); break;                    \
        case 2: run_tile(window, stride, 2, t); break;                    \
        default: run_tile(window, stride, 1, t); break;                   \
        }                                                                 \
    }
TILE_FUNCTION(3, 1)
TILE_FUNCTION(3, 2)
TILE_FUNCTION(5, 1)
TILE_FUNCTION(5, 2)
TILE_FUNCTION(7, 1)
TILE_FUNCTION(7, 2)
#undef TILE_FUNCTION

static tile_function *tile_function_of(int64_t window, int64_t stride)
{
    static tile_function *const functions[][2] = {{run_tile_3_1, run_tile_3_2},
                                                  {run_tile_5_1, run_tile_5_2},
                                                  {run_tile_7_1, run_tile_7_2}};
    return functions[window / 2 - 1][stride - 1];
}

/* ---- rows ---- */

/* The facts that are the same for all rows. */
typedef struct row_shape {
    int64_t source_width, target_width;
    int64_t window, stride;
    int64_t padding;
    int tile;
    void (*run_row)(const struct row_shape *shape, const row_tile *t);
    tile_function *run;
} row_shape;

/* One row of the result for the channels that are set in `t`, whose places are those of column 0. */
static void run_row(const row_shape *shape, const row_tile *t)
{
    row_tile tile = *t;
    for (int64_t column = 0; column < shape->target_width; column += shape->tile) {
        int64_t target = at_most(column, shape->target_width - shape->tile);
        int64_t source = target * shape->stride - shape->padding;
        int64_t columns = (shape->tile - 1) * shape->stride + shape->window;
        tile.source_at = t->source_at + source * t->source_column;
        tile.target_at = t->target_at + target * t->target_column;
        tile.first_column = source < 0 ? -source : 0;
        tile.end_column = at_most(columns, shape->source_width - source);
        tile.border = source < 0 || tile.end_column < columns;
        shape->run(shape->tile, &tile);
        if (!t->moments) continue;
#if defined(LIANA__STORES_BF16)
        t->moments->add(t->moments, shape->tile, t->target + tile.target_at, t->target_column, t->channels,
                        t->first_vector, t->end_vector);
#endif
        t->moments->pending += shape->tile;
        if (t->moments->pending >= MOMENT_ROWS) close_moments(t->moments, t->first_vector, t->end_vector);
    }
}

/* The number of vectors of channels that are computed for all rows of an image at once: their part of the source stays
 * in the first-level cache from one row of the result to the next. Fewer would touch too many pages for little work.
 * Whole pairs, if two are computed together. */
enum { CACHED_BYTES = 28 << 10, LEAST_VECTORS = 4 };

static int64_t vectors_at_once(const liana__geometry *g, int64_t source_width)
{
    int64_t bytes = g->window[0] * source_width * VECTOR_LENGTH * (int64_t)sizeof(element);
    int64_t groups = divide_up(count_vectors(g->channels), MAX_PARTS); /* of vectors that are computed together */
    int64_t most = at_least(LEAST_VECTORS, CACHED_BYTES / bytes) / MAX_PARTS;
    return MAX_PARTS * divide_up(groups, divide_up(groups, most));
}

/* The rows of the source under row `row` of the result, and their taps. */
typedef void set_rows_function(const liana__geometry *g, int64_t row, row_tile *t);

static void set_forward_rows(const liana__geometry *g, int64_t row, row_tile *t)
{
    int64_t first = row * g->strides[0] - g->padding_low[0]; /* may lie in the padding */
    int64_t tap = divide_up(-first, g->dilations[0]);
    t->num_rows = at_least(0, at_most(g->window[0], divide_up(g->input[0] - first, g->dilations[0])) - tap);
    t->source_at = (first + tap * g->dilations[0]) * g->input[1] * g->channels;
    t->source_row = g->dilations[0] * g->input[1] * g->channels;
    t->kernel_at = tap * g->window[1] * g->channels;
    t->kernel_row = g->window[1] * g->channels;
}

/* The taps that reach row `row` of dx: every strides[0]-th, with a row of dy one higher each time. */
static void set_gradient_rows(const liana__geometry *g, int64_t row, row_tile *t)
{
    int64_t stride = g->strides[0], moved = row + g->padding_low[0];
    int64_t first_out = at_most(moved / stride, g->output[0] - 1);
    int64_t tap = moved - first_out * stride;
    t->num_rows = tap < g->window[0] ? at_most(first_out + 1, divide_up(g->window[0] - tap, stride)) : 0;
    t->source_at = first_out * g->output[1] * g->channels;
    t->source_row = -g->output[1] * g->channels;
    t->kernel_at = tap * g->window[1] * g->channels;
    t->kernel_row = stride * g->window[1] * g->channels;
}

/* A range of the rows of all images. */
typedef struct row_range {
    int64_t begin, end;
} row_range;

/* The rows that a call wants of a result of `rows` rows for each of `batch` images. */
static row_range wanted_rows(const liana__call *call, int64_t batch, int64_t rows)
{
    if (call->num_tiles < 2) return (row_range){0, batch * rows};
    const int64_t tile = (int64_t)call->tile, count = (int64_t)call->num_tiles;
    return (row_range){batch * rows * tile / count, batch * rows * (tile + 1) / count};
}

/* Rows of a result of size[0] rows and size[1] columns. */
static void run_rows(const liana__geometry *g, const row_shape *shape, set_rows_function *set_rows, int64_t source_size,
                     const int64_t size[2], int64_t kernel_shift, row_range wanted, row_tile *t)
{
    int64_t vectors = count_vectors(g->channels), at_once = vectors_at_once(g, shape->source_width);
    t->channels = g->channels;
    t->source_column = t->target_column = g->channels;
    for (int64_t n = wanted.begin / size[0]; n * size[0] < wanted.end; n++) {
        const int64_t first_row = at_least(0, wanted.begin - n * size[0]);
        const int64_t end_row = at_most(size[0], wanted.end - n * size[0]);
        for (int64_t first = 0; first < vectors; first += at_once) {
            t->first_vector = first;
            t->end_vector = at_most(vectors, first + at_once);
            for (int64_t row = first_row; row < end_row; row++) {
                set_rows(g, row, t);
                t->source_at += n * source_size;
                t->kernel_at += kernel_shift;
                t->target_at = (n * size[0] + row) * size[1] * g->channels;
                shape->run_row(shape, t);
            }
            if (t->moments) close_moments(t->moments, t->first_vector, t->end_vector);
        }
    }
}

/* `add`: how statistics are made, if they are wanted. */
static void run_forward(const liana__geometry *g, const liana__call *call, add_moments_function *add)
{
    row_shape shape = {.source_width = g->input[1],
                       .target_width = g->output[1],
                       .window = g->window[1],
                       .stride = g->strides[1],
                       .padding = g->padding_low[1],
                       .tile = choose_tile(g->output[1], MAX_TILE),
                       .run_row = run_row,
                       .run = tile_function_of(g->window[1], g->strides[1])};
    row_tile t = {.source = call->src[0], .kernel = call->src[1], .target = call->dst, .kernel_column = g->channels};
    epilogue after;
    float waiting[WAITING_STEPS * MAX_TILE * MAX_PARTS * VECTOR_LENGTH] __attribute__((aligned(64)));
    if (liana__has_epilogue(call->node)) {
        after = epilogue_of(call, g->channels, liana__conv_activation_of(call->node));
        t.after = &after;
        if (after.swish) t.waiting = waiting;
    }
    tile_moments moments = {.vectors = call->scratch, .add = add};
    if (call->companion) {
        memset(moments.vectors, 0, moments_size(g));
        t.moments = &moments;
    }
    run_rows(g, &shape, set_forward_rows, g->input[0] * g->input[1] * g->channels, g->output, 0,
             wanted_rows(call, g->batch, g->output[0]), &t);
    if (call->companion) give_moments(&moments, g->channels, call->companion);
}

static void run_input_gradient(const liana__geometry *g, const liana__call *call)
{
    row_shape shape = {.source_width = g->output[1],
                       .target_width = g->input[1],
                       .window = g->window[1],
                       .stride = 1,
                       .padding = g->window[1] - 1 - g->padding_low[1],
                       .tile = choose_tile(g->input[1], MAX_TILE),
                       .run_row = run_row,
                       .run = tile_function_of(g->window[1], 1)};
    row_tile t = {.source = call->src[0], .kernel = call->src[1], .target = call->dst, .kernel_column = -g->channels};
    run_rows(g, &shape, set_gradient_rows, g->output[0] * g->output[1] * g->channels, g->input,
             (g->window[1] - 1) * g->channels, wanted_rows(call, g->batch, g->input[0]), &t);
}

#endif
