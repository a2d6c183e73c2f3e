/* pool2d.kernels.h - pooling of floats, for one instruction set. Vectors run over the channels of one pixel. */
#include "kernels/vector.h"
#include "kernels/vector_kernels.h"
#include "ops/applicable.h"
#include "ops/pool2d.h"

/* One window of an image. Offsets are in floats from the start of x. */
typedef struct pool_window {
    int64_t first; /* its first pixel inside the image */
    int64_t rows, columns;
    int64_t row_step, column_step;
} pool_window;

static pool_window window_of(const liana__geometry *g, int64_t out)
{
    int64_t column = out % g->output[1], row = out / g->output[1] % g->output[0];
    int64_t n = out / g->output[1] / g->output[0], begin[2], end[2];
    liana__pool_taps(g, 0, row, &begin[0], &end[0]);
    liana__pool_taps(g, 1, column, &begin[1], &end[1]);
    int64_t first_row = row * g->strides[0] - g->padding_low[0] + begin[0];
    int64_t first_column = column * g->strides[1] - g->padding_low[1] + begin[1];
    return (pool_window){
        .first = ((n * g->input[0] + first_row) * g->input[1] + first_column) * g->channels,
        .rows = end[0] - begin[0],
        .columns = end[1] - begin[1],
        .row_step = g->input[1] * g->channels,
        .column_step = g->channels,
    };
}

/* Vectors of channels, the last one maybe in part. */
LIANA__INLINE vector_float load_channels(const float *source, int64_t left)
{
    return left >= VECTOR_LENGTH ? vector_load(source) : vector_load_part(source, left);
}

LIANA__INLINE void store_channels(float *target, vector_float value, int64_t left)
{
    if (left >= VECTOR_LENGTH) {
        vector_store(target, value);
    } else {
        vector_store_part(target, value, left);
    }
}

typedef void window_function(const liana__geometry *g, const pool_window *window, int64_t out, const liana__call *call);

/* The windows in order. */
LIANA__INLINE liana_status run_windows(const liana__call *call, window_function *function)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    for (int64_t out = 0; out < g.batch * g.output[0] * g.output[1]; out++) {
        const pool_window window = window_of(&g, out);
        function(&g, &window, out * g.channels, call);
    }
    return LIANA_OK;
}

/* ---- max: a NaN wins over numbers, the first one over others ---- */

/* Where x takes the place of the greatest so far. */
LIANA__INLINE vector_int wins(vector_float x, vector_float best)
{
    return ~(x <= best) & (best == best);
}

static void max_window(const liana__geometry *g, const pool_window *w, int64_t out, const liana__call *call)
{
    const float *x = (const float *)call->src[0] + w->first;
    float *y = (float *)call->dst + out;
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float best = load_channels(x + c, left);
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++) {
                vector_float value = load_channels(x + i * w->row_step + j * w->column_step + c, left);
                best = vector_select(wins(value, best), value, best);
            }
        }
        store_channels(y + c, best, left);
    }
}

/* Finds the number of the winning tap, then adds dy there. */
static void max_gradient_window(const liana__geometry *g, const pool_window *w, int64_t out, const liana__call *call)
{
    const float *x = (const float *)call->src[0] + w->first, *dy = (const float *)call->src[1] + out;
    float *dx = (float *)call->dst + w->first;
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float best = load_channels(x + c, left), gradient = load_channels(dy + c, left);
        vector_int winner = {0}, tap = {0};
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++, tap += 1) {
                vector_float value = load_channels(x + i * w->row_step + j * w->column_step + c, left);
                vector_int won = wins(value, best);
                best = vector_select(won, value, best);
                winner = (winner & ~won) | (tap & won);
            }
        }
        tap = (vector_int){0};
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++, tap += 1) {
                float *at = dx + i * w->row_step + j * w->column_step + c;
                vector_float share = (vector_float)((vector_int)gradient & (winner == tap));
                store_channels(at, load_channels(at, left) + share, left);
            }
        }
    }
}

/* ---- average ---- */

static void average_window(const liana__geometry *g, const pool_window *w, int64_t out, const liana__call *call)
{
    const float *x = (const float *)call->src[0] + w->first;
    float *y = (float *)call->dst + out;
    vector_float count = vector_set((float)(w->rows * w->columns));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float sum = vector_set(0);
        for (int64_t i = 0; i < w->rows; i++) {
            vector_float row_sum = vector_set(0);
            for (int64_t j = 0; j < w->columns; j++) {
                row_sum += load_channels(x + i * w->row_step + j * w->column_step + c, left);
            }
            sum += row_sum;
        }
        store_channels(y + c, sum / count, left);
    }
}

static void average_gradient_window(const liana__geometry *g, const pool_window *w, int64_t out,
                                    const liana__call *call)
{
    const float *dy = (const float *)call->src[0] + out;
    float *dx = (float *)call->dst + w->first;
    vector_float count = vector_set((float)(w->rows * w->columns));
    for (int64_t c = 0; c < g->channels; c += VECTOR_LENGTH) {
        int64_t left = g->channels - c;
        vector_float share = load_channels(dy + c, left) / count;
        for (int64_t i = 0; i < w->rows; i++) {
            for (int64_t j = 0; j < w->columns; j++) {
                float *at = dx + i * w->row_step + j * w->column_step + c;
                store_channels(at, load_channels(at, left) + share, left);
            }
        }
    }
}

/* ---- the kernels ---- */

static liana_status run_max(const liana__call *call)
{
    return run_windows(call, max_window);
}

static liana_status run_max_gradient(const liana__call *call)
{
    memset(call->dst, 0, liana__byte_size(call->node->dtype, &call->node->shape));
    return run_windows(call, max_gradient_window);
}

static liana_status run_average(const liana__call *call)
{
    return run_windows(call, average_window);
}

static liana_status run_average_gradient(const liana__call *call)
{
    memset(call->dst, 0, liana__byte_size(call->node->dtype, &call->node->shape));
    return run_windows(call, average_gradient_window);
}

LIANA__VECTOR_KERNEL(max_pool2d, .applicable = liana__applicable_f32, .run = run_max);
LIANA__VECTOR_KERNEL(max_pool2d_gradient, .applicable = liana__applicable_f32, .run = run_max_gradient);
LIANA__VECTOR_KERNEL(average_pool2d, .applicable = liana__applicable_f32, .run = run_average);
LIANA__VECTOR_KERNEL(average_pool2d_gradient, .applicable = liana__applicable_f32, .run = run_average_gradient);
