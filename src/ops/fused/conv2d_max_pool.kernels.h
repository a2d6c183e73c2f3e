/* conv2d_max_pool.kernels.h - convolution and max pooling of 2x2 in one kernel, of floats, for one instruction set.
 *
 * Images and weights are first copied into scratch memory. This costs little, compared with the work on them.
 * - Images are copied one by one, with their border of zeros, in planes of a few channels. So the compiler knows the
 *   distance between two pixels.
 * - Weights are copied in the order in which they are read, with zeros where a vector has no filter or channel.
 *
 * Forward, vectors run over filters. The four results of a window stay in registers until one has won; this is done for
 * several windows at once.
 *
 * On the way back a filter has one gradient in a window, and often none (relu, dropout): only those are worked on.
 * Vectors run over channels, a cell of the kernel's window in each register: the gradient of the images adds the
 * weights of all filters that won at the same place of the window; the gradient of the kernel adds for one filter the
 * pixels of all the places where it won. Few channels do not fill a vector: then the gradient of the kernel runs over
 * filters, with zeros for those that did not win. */
#include "kernels/applicable.h"
#include "kernels/vector_filters.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_pooling.h"
#include "ops/fused/conv2d_max_pool.h"

enum {
    FILTER_VECTORS = 2, /* that are computed at once */
    FILTER_BLOCK = FILTER_VECTORS * VECTOR_LENGTH,
    MOST_WINDOWS = LIANA_VECTOR_BYTES == 64 ? 3 : 1, /* as many as the registers hold */
    LIST_FILTERS = 32,                               /* whose weights stay in the first cache */
};

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32(node, reason)) return false;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    const liana__geometry *g = &p.conv;
    bool plain = g->strides[0] == 1 && g->strides[1] == 1 && g->dilations[0] == 1 && g->dilations[1] == 1;
    bool known_window = g->window[0] == g->window[1] && (g->window[0] == 3 || g->window[0] == 5);
    int64_t rows = g->input[0] + g->padding_low[0] + g->padding_high[0];
    int64_t columns = g->input[1] + g->padding_low[1] + g->padding_high[1];
    *reason = NULL;
    if (p.pool[0] != 2 || p.pool[1] != 2) *reason = "the pooling's window is not 2x2";
    if (!plain) *reason = "the convolution has strides or dilations";
    if (!known_window) *reason = "the convolution's window is neither 3x3 nor 5x5";
    if (rows * columns > INT32_MAX / (g->channels + 2 * VECTOR_LENGTH)) *reason = "an image has 2^31 elements or more";
    return !*reason;
}

/* ---- images in scratch memory ---- */

/* An image with its border: [blocks, rows, columns, step], `step` channels in each block. */
typedef struct layout {
    int64_t blocks, rows, columns, step;
    int64_t row_size, block_size, size; /* floats */
} layout;

static layout planes_of(const liana__geometry *g, int64_t step)
{
    layout p = {.blocks = divide_round_up(g->channels, step), .step = step};
    p.rows = g->input[0] + g->padding_low[0] + g->padding_high[0];
    p.columns = g->input[1] + g->padding_low[1] + g->padding_high[1];
    p.row_size = p.columns * step;
    p.block_size = p.rows * p.row_size;
    p.size = p.blocks * p.block_size;
    return p;
}

/* The first pixel that is not border, of row `row` of an image and its block `block`. */
static int64_t at_row(const liana__geometry *g, const layout *p, int64_t block, int64_t row)
{
    return block * p->block_size + (row + g->padding_low[0]) * p->row_size + g->padding_low[1] * p->step;
}

/* Puts image n into `packed`, whose border and channels that do not exist are 0 already. */
static void pack_image(const liana__geometry *g, const layout *p, const float *images, int64_t n, float *packed)
{
    for (int64_t b = 0; b < p->blocks; b++) {
        int64_t count = at_most(p->step, g->channels - b * p->step);
        for (int64_t row = 0; row < g->input[0]; row++) {
            const float *source = images + (n * g->input[0] + row) * g->input[1] * g->channels + b * p->step;
            float *target = packed + at_row(g, p, b, row);
            for (int64_t column = 0; column < g->input[1]; column++) {
                for (int64_t c = 0; c < count; c++) target[column * p->step + c] = source[column * g->channels + c];
            }
        }
    }
}

static void unpack_image(const liana__geometry *g, const layout *p, const float *packed, int64_t n, float *images)
{
    for (int64_t b = 0; b < p->blocks; b++) {
        int64_t count = at_most(p->step, g->channels - b * p->step);
        for (int64_t row = 0; row < g->input[0]; row++) {
            float *target = images + (n * g->input[0] + row) * g->input[1] * g->channels + b * p->step;
            const float *source = packed + at_row(g, p, b, row);
            for (int64_t column = 0; column < g->input[1]; column++) {
                for (int64_t c = 0; c < count; c++) target[column * g->channels + c] = source[column * p->step + c];
            }
        }
    }
}

static size_t floats(int64_t count)
{
    return (size_t)count * sizeof(float);
}

/* ---- forward ---- */

/* A channel alone or as many as a vector holds. */
static int64_t forward_step(const liana__geometry *g)
{
    return g->channels == 1 ? 1 : VECTOR_LENGTH;
}

/* Of one block of filters: weights, then biases. */
static int64_t weights_size(const liana__geometry *g)
{
    return g->window[0] * g->window[1] * g->channels * FILTER_BLOCK;
}

/* Packs [blocks of filters][blocks of channels][window][channels of the block][FILTER_BLOCK]; after each block its
 * biases. */
static void pack_weights(const liana__geometry *g, const layout *p, const float *kernel, const float *bias,
                         float *packed)
{
    for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
        int64_t count = at_most(FILTER_BLOCK, g->filters - first);
        for (int64_t b = 0; b < p->blocks; b++) {
            int64_t channel = b * p->step, end = at_most(channel + p->step, g->channels);
            for (int64_t cell = 0; cell < g->window[0] * g->window[1]; cell++) {
                for (int64_t c = channel; c < end; c++, packed += FILTER_BLOCK) {
                    memset(packed, 0, floats(FILTER_BLOCK));
                    memcpy(packed, kernel + (cell * g->channels + c) * g->filters + first, floats(count));
                }
            }
        }
        memset(packed, 0, floats(FILTER_BLOCK));
        memcpy(packed, bias + first, floats(count));
        packed += FILTER_BLOCK;
    }
}

/* The facts that are the same for all windows of a call. */
typedef struct forward_job {
    const liana__geometry *g;
    const layout *planes;
    const float *weights; /* of the block of filters */
    int64_t count;        /* filters of the block */
    int64_t plane;        /* from a value to its winner */
    bool relu;
} forward_job;

/* Adds the taps of all channels: sum[row][column][vector] for the rows and columns under the windows. */
LIANA__INLINE void convolve(const int windows, const int step, const forward_job *job, const float *x,
                            vector_float sum[2][2 * MOST_WINDOWS][FILTER_VECTORS])
{
    const liana__geometry *g = job->g;
    const float *weights = job->weights;
    int64_t row_size = job->planes->row_size;
    for (int64_t b = 0; b < job->planes->blocks; b++) {
        int64_t channels = step == 1 ? 1 : at_most(step, g->channels - b * step);
        for (int64_t i = 0; i < g->window[0]; i++) {
            for (int64_t j = 0; j < g->window[1]; j++) {
                const float *upper = x + b * job->planes->block_size + i * row_size + j * step;
                for (int64_t c = 0; c < channels; c++, upper = hide(upper + 1), weights += FILTER_BLOCK) {
                    const float *lower = upper + row_size;
                    vector_float w[FILTER_VECTORS];
                    for (int v = 0; v < FILTER_VECTORS; v++) w[v] = vector_load(weights + v * VECTOR_LENGTH);
                    for (int k = 0; k < 2 * windows; k++) {
                        vector_float up = vector_set(upper[k * step]), low = vector_set(lower[k * step]);
                        for (int v = 0; v < FILTER_VECTORS; v++) {
                            sum[0][k][v] = vector_fma(up, w[v], sum[0][k][v]);
                            sum[1][k][v] = vector_fma(low, w[v], sum[1][k][v]);
                        }
                    }
                }
            }
        }
    }
}

/* Neighbouring windows of a row: `x` is the first pixel that they see, `y` the first value. */
LIANA__INLINE void run_windows(const int windows, const int step, const forward_job *job, const float *x, float *y)
{
    vector_float sum[2][2 * MOST_WINDOWS][FILTER_VECTORS];
    const float *bias = job->weights + weights_size(job->g);
    for (int v = 0; v < FILTER_VECTORS; v++) {
        for (int k = 0; k < 2 * windows; k++) sum[0][k][v] = sum[1][k][v] = vector_load(bias + v * VECTOR_LENGTH);
    }
    convolve(windows, step, job, x, sum);
    for (int k = 0; k < windows; k++) {
        for (int v = 0; v < FILTER_VECTORS; v++) {
            const vector_float results[POOLING_TAPS] = {sum[0][2 * k][v], sum[0][2 * k + 1][v], sum[1][2 * k][v],
                                                        sum[1][2 * k + 1][v]};
            vector_float winner;
            const vector_float best = pooling_best(results, job->relu, &winner);
            float *target = y + k * job->g->filters + v * VECTOR_LENGTH;
            store_filters(target, best, job->count - v * VECTOR_LENGTH);
            store_filters(target + job->plane, winner, job->count - v * VECTOR_LENGTH);
        }
    }
}

/* A row of windows. */
LIANA__INLINE void run_row(const int step, const forward_job *job, int64_t count, const float *x, float *y)
{
    int64_t k = 0;
    for (; k + MOST_WINDOWS <= count; k += MOST_WINDOWS) {
        run_windows(MOST_WINDOWS, step, job, x + 2 * k * step, y + k * job->g->filters);
    }
    for (; MOST_WINDOWS > 2 && k + 2 <= count; k += 2) {
        run_windows(2, step, job, x + 2 * k * step, y + k * job->g->filters);
    }
    for (; k < count; k++) run_windows(1, step, job, x + 2 * k * step, y + k * job->g->filters);
}

static void run_row_of_one(const forward_job *job, int64_t count, const float *x, float *y)
{
    run_row(1, job, count, x, y);
}

static void run_row_of_many(const forward_job *job, int64_t count, const float *x, float *y)
{
    run_row(VECTOR_LENGTH, job, count, x, y);
}

static liana_status prepare_forward(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    const layout planes = planes_of(&p.conv, forward_step(&p.conv));
    int64_t blocks = divide_round_up(p.conv.filters, FILTER_BLOCK);
    prepared->scratch_size = floats(planes.size + blocks * (weights_size(&p.conv) + FILTER_BLOCK));
    return LIANA_OK;
}

static liana_status run_forward(const liana__call *call)
{
    const liana__conv2d_max_pool_attributes *attributes = call->node->attributes;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(call->node);
    const liana__geometry *g = &p.conv;
    const layout planes = planes_of(g, forward_step(g));
    float *image = call->scratch, *weights = image + planes.size, *y = call->dst;
    memset(image, 0, floats(planes.size));
    pack_weights(g, &planes, call->src[1], call->src[2], weights);
    forward_job job = {.g = g, .planes = &planes, .relu = attributes->relu};
    job.plane = g->batch * p.pooled[0] * p.pooled[1] * g->filters;
    for (int64_t n = 0; n < g->batch; n++) {
        pack_image(g, &planes, call->src[0], n, image);
        for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
            job.weights = weights + first / FILTER_BLOCK * (weights_size(g) + FILTER_BLOCK);
            job.count = g->filters - first;
            for (int64_t row = 0; row < p.pooled[0]; row++) {
                const float *x = image + 2 * row * planes.row_size;
                float *target = y + (n * p.pooled[0] + row) * p.pooled[1] * g->filters + first;
                (planes.step == 1 ? run_row_of_one : run_row_of_many)(&job, p.pooled[1], x, target);
            }
        }
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_max_pool, .applicable = is_applicable, .prepare = prepare_forward, .run = run_forward);

/* ---- gradients over channels: some rows of the kernel's window and some vectors of channels in registers ---- */

/* The gradients that are worked on together, and where each finds its other factor. */
typedef struct winners {
    const int32_t *sources; /* floats from `source` */
    const float *gradients;
    int64_t count;
} winners;

/* target[row][column][vectors] += gradient * source[row][column][vectors], for all winners. */
LIANA__INLINE void add_products(const int rows, const int columns, const int vectors, const winners *w, float *target,
                                int64_t target_row, const float *source, int64_t source_row)
{
    vector_float sum[5][5][2];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            for (int v = 0; v < vectors; v++) {
                sum[i][j][v] = vector_load(target + i * target_row + (j * vectors + v) * VECTOR_LENGTH);
            }
        }
    }
    for (int64_t k = 0; k < w->count; k++) {
        vector_float gradient = vector_set(w->gradients[k]);
        const float *at = source + w->sources[k];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                for (int v = 0; v < vectors; v++) {
                    vector_float factor = vector_load(at + i * source_row + (j * vectors + v) * VECTOR_LENGTH);
                    sum[i][j][v] = vector_fma(factor, gradient, sum[i][j][v]);
                }
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            for (int v = 0; v < vectors; v++) {
                vector_store(target + i * target_row + (j * vectors + v) * VECTOR_LENGTH, sum[i][j][v]);
            }
        }
    }
}

typedef void add_function(const winners *w, float *target, int64_t target_row, const float *source, int64_t source_row);

/* How the window is cut: as much of it as there are registers. */
typedef struct division {
    int rows;    /* of the window, at once */
    int vectors; /* of channels (or filters), at once */
    add_function *add;
} division;

#define ADD_FUNCTION(rows, columns, vectors)                                                            \
    static void add_##rows##x##columns##x##vectors(const winners *w, float *target, int64_t target_row, \
                                                   const float *source, int64_t source_row)             \
    {                                                                                                   \
        add_products(rows, columns, vectors, w, target, target_row, source, source_row);                \
    }
ADD_FUNCTION(3, 3, 1)
#if LIANA_VECTOR_BYTES == 64
ADD_FUNCTION(3, 3, 2)
ADD_FUNCTION(5, 5, 1)
#else
ADD_FUNCTION(1, 5, 2)
#endif
#undef ADD_FUNCTION

static division cut_of(const liana__geometry *g)
{
#if LIANA_VECTOR_BYTES == 64
    if (g->window[0] == 5) return (division){5, 1, add_5x5x1};
    if (g->channels > VECTOR_LENGTH) return (division){3, 2, add_3x3x2};
#else
    if (g->window[0] == 5) return (division){1, 2, add_1x5x2};
#endif
    return (division){3, 1, add_3x3x1};
}

/* ---- gradient of the images ---- */

/* By the place in the pooling's window: the filters that won there with a gradient. */
typedef struct lists {
    int32_t sources[POOLING_TAPS][LIST_FILTERS + VECTOR_LENGTH];
    float gradients[POOLING_TAPS][LIST_FILTERS + VECTOR_LENGTH];
    int64_t counts[POOLING_TAPS];
} lists;

static void make_lists(const float *gradients, const float *places, int64_t filters, int32_t filter_size, lists *made)
{
    memset(made->counts, 0, sizeof made->counts);
#if LIANA_VECTOR_BYTES == 64
    const __m512i iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int64_t f = 0; f < filters; f += VECTOR_LENGTH) {
        __mmask16 part = vector_first(at_most(VECTOR_LENGTH, filters - f));
        __m512 gradient = _mm512_maskz_loadu_ps(part, gradients + f), place = _mm512_maskz_loadu_ps(part, places + f);
        __m512i source =
            _mm512_mullo_epi32(_mm512_add_epi32(iota, _mm512_set1_epi32((int)f)), _mm512_set1_epi32(filter_size));
        __mmask16 some = _mm512_mask_cmp_ps_mask(part, gradient, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        for (int tap = 0; tap < POOLING_TAPS; tap++) {
            __mmask16 here = _mm512_mask_cmp_ps_mask(some, place, _mm512_set1_ps((float)tap), _CMP_EQ_OQ);
            int64_t count = made->counts[tap];
            _mm512_storeu_ps(made->gradients[tap] + count, _mm512_maskz_compress_ps(here, gradient));
            _mm512_storeu_si512(made->sources[tap] + count, _mm512_maskz_compress_epi32(here, source));
            made->counts[tap] = count + __builtin_popcount(here);
        }
    }
#else
    for (int64_t f = 0; f < filters; f++) {
        int tap = (int)places[f] & (POOLING_TAPS - 1);
        int64_t count = made->counts[tap];
        made->gradients[tap][count] = gradients[f];
        made->sources[tap][count] = (int32_t)f * filter_size;
        made->counts[tap] = count + (gradients[f] != 0);
    }
#endif
}

/* [blocks of channels][filters][window][step]. */
static void transpose_weights(const liana__geometry *g, const layout *p, const float *kernel, float *packed)
{
    int64_t cells = g->window[0] * g->window[1];
    memset(packed, 0, floats(p->blocks * g->filters * cells * p->step));
    for (int64_t cell = 0; cell < cells; cell++) {
        for (int64_t c = 0; c < g->channels; c++) {
            float *target = packed + (c / p->step * g->filters * cells + cell) * p->step + c % p->step;
            for (int64_t f = 0; f < g->filters; f++) target[f * cells * p->step] = *kernel++;
        }
    }
}

/* The places of the results and the inputs of one image. */
typedef struct input_job {
    const liana__conv2d_max_pool_geometry *p;
    const layout *planes;
    const division *cut;
    const float *gradients, *places; /* of the image */
    const float *weights;
} input_job;

/* One block of channels of `image`, from the filters `first` to `first` + `count`. */
static void add_filters(const input_job *job, int64_t block, int64_t first, int64_t count, float *image)
{
    const liana__geometry *g = &job->p->conv;
    const layout *planes = job->planes;
    int64_t cells = g->window[0] * g->window[1], source_row = g->window[1] * planes->step;
    const float *weights = job->weights + (block * g->filters + first) * cells * planes->step;
    lists found;
    for (int64_t k = 0; k < job->p->pooled[0] * job->p->pooled[1]; k++) {
        int64_t row = 2 * (k / job->p->pooled[1]), column = 2 * (k % job->p->pooled[1]);
        float *window = image + block * planes->block_size + row * planes->row_size + column * planes->step;
        int64_t at = k * g->filters + first;
        make_lists(job->gradients + at, job->places + at, count, (int32_t)(cells * planes->step), &found);
        for (int tap = 0; tap < POOLING_TAPS; tap++) {
            const winners w = {found.sources[tap], found.gradients[tap], found.counts[tap]};
            if (w.count == 0) continue;
            float *target = window + tap / 2 * planes->row_size + tap % 2 * planes->step;
            for (int64_t i = 0; i < g->window[0]; i += job->cut->rows) {
                job->cut->add(&w, target + i * planes->row_size, planes->row_size, weights + i * source_row,
                              source_row);
            }
        }
    }
}

static liana_status prepare_input_gradient(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    const layout planes = planes_of(&p.conv, cut_of(&p.conv).vectors * VECTOR_LENGTH);
    int64_t cells = p.conv.window[0] * p.conv.window[1];
    prepared->scratch_size = floats(planes.size + planes.blocks * p.conv.filters * cells * planes.step);
    return LIANA_OK;
}

static liana_status run_input_gradient(const liana__call *call)
{
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(call->node);
    const liana__geometry *g = &p.conv;
    const division cut = cut_of(g);
    const layout planes = planes_of(g, cut.vectors * VECTOR_LENGTH);
    float *image = call->scratch, *weights = image + planes.size;
    int64_t size = p.pooled[0] * p.pooled[1] * g->filters; /* of dy, for an image */
    transpose_weights(g, &planes, call->src[2], weights);
    input_job job = {.p = &p, .planes = &planes, .cut = &cut, .weights = weights};
    for (int64_t n = 0; n < g->batch; n++) {
        job.gradients = (const float *)call->src[1] + n * size;
        job.places = (const float *)call->src[0] + (g->batch + n) * size;
        memset(image, 0, floats(planes.size));
        for (int64_t block = 0; block < planes.blocks; block++) {
            for (int64_t first = 0; first < g->filters; first += LIST_FILTERS) {
                add_filters(&job, block, first, at_most(LIST_FILTERS, g->filters - first), image);
            }
        }
        unpack_image(g, &planes, image, n, call->dst);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_max_pool_input_gradient, .applicable = is_applicable, .prepare = prepare_input_gradient,
                     .run = run_input_gradient);

/* ---- gradient of the kernel, over channels ---- */

/* For each filter, where it won in an image. */
typedef struct filter_lists {
    int32_t *sources; /* [filters][windows] */
    float *gradients;
    int64_t *counts;
} filter_lists;

static void make_filter_lists(const liana__conv2d_max_pool_geometry *p, const layout *planes, const float *gradients,
                              const float *places, const filter_lists *made)
{
    int64_t windows = p->pooled[0] * p->pooled[1], filters = p->conv.filters;
    const int32_t steps[POOLING_TAPS] = {0, (int32_t)planes->step, (int32_t)planes->row_size,
                                         (int32_t)(planes->row_size + planes->step)};
    memset(made->counts, 0, (size_t)filters * sizeof *made->counts);
    for (int64_t k = 0; k < windows; k++) {
        int32_t first = (int32_t)(2 * (k / p->pooled[1] * planes->row_size + k % p->pooled[1] * planes->step));
        for (int64_t f = 0; f < filters; f++) {
            int64_t at = f * windows + made->counts[f];
            float gradient = gradients[k * filters + f];
            made->sources[at] = first + steps[(int)places[k * filters + f] & (POOLING_TAPS - 1)];
            made->gradients[at] = gradient;
            made->counts[f] += gradient != 0;
        }
    }
}

/* Whether vectors run over channels. Where there are too few channels for this to pay, they run over filters. */
static bool runs_over_channels(const liana__geometry *g)
{
    return 4 * g->channels > VECTOR_LENGTH;
}

/* Floats of the gradient in scratch memory: over channels [blocks][filters][window][step], over filters
 * [channels][blocks of filters][window][filters of the block]. */
static int64_t sums_size(const liana__geometry *g, const division *cut)
{
    int64_t block = cut->vectors * VECTOR_LENGTH, cells = g->window[0] * g->window[1];
    if (runs_over_channels(g)) return divide_round_up(g->channels, block) * g->filters * cells * block;
    return g->channels * divide_round_up(g->filters, block) * cells * block;
}

static void add_over_channels(const liana__conv2d_max_pool_geometry *p, const layout *planes, const division *cut,
                              const filter_lists *found, const float *image, float *sums)
{
    const liana__geometry *g = &p->conv;
    int64_t windows = p->pooled[0] * p->pooled[1], sums_row = g->window[1] * planes->step;
    for (int64_t block = 0; block < planes->blocks; block++) {
        for (int64_t f = 0; f < g->filters; f++, sums += g->window[0] * sums_row) {
            const winners w = {found->sources + f * windows, found->gradients + f * windows, found->counts[f]};
            for (int64_t i = 0; i < g->window[0]; i += cut->rows) {
                cut->add(&w, sums + i * sums_row, sums_row, image + block * planes->block_size + i * planes->row_size,
                         planes->row_size);
            }
        }
    }
}

static void unpack_channels(const liana__geometry *g, const layout *p, const float *sums, float *gradient)
{
    int64_t cells = g->window[0] * g->window[1];
    for (int64_t cell = 0; cell < cells; cell++) {
        for (int64_t c = 0; c < g->channels; c++) {
            const float *source = sums + (c / p->step * g->filters * cells + cell) * p->step + c % p->step;
            for (int64_t f = 0; f < g->filters; f++) *gradient++ = source[f * cells * p->step];
        }
    }
}

/* ---- gradient of the kernel, over filters ---- */

/* One image; a channel, some rows of the window and some vectors of filters. */
LIANA__INLINE void add_channel(const int rows, const int columns, const int vectors,
                               const liana__conv2d_max_pool_geometry *p, int64_t row_size, const float *gradients,
                               const float *places, int64_t count, const float *plane, float *sums)
{
    vector_float sum[5][5][2];
    for (int i = 0; i < rows * columns; i++) {
        for (int v = 0; v < vectors; v++) {
            sum[i / columns][i % columns][v] = vector_load(sums + (i * vectors + v) * VECTOR_LENGTH);
        }
    }
    for (int64_t k = 0; k < p->pooled[0] * p->pooled[1]; k++) {
        const float *window = plane + 2 * (k / p->pooled[1] * row_size + k % p->pooled[1]);
        vector_float gradient[2], place[2];
        for (int v = 0; v < vectors; v++) {
            int64_t at = k * p->conv.filters + v * VECTOR_LENGTH, left = count - v * VECTOR_LENGTH;
            bool whole = left >= VECTOR_LENGTH;
            gradient[v] = whole ? vector_load(gradients + at) : vector_load_part(gradients + at, left > 0 ? left : 0);
            place[v] = whole ? vector_load(places + at) : vector_load_part(places + at, left > 0 ? left : 0);
        }
        for (int tap = 0; tap < POOLING_TAPS; tap++) {
            vector_float share[2];
            for (int v = 0; v < vectors; v++) {
                share[v] = (vector_float)((vector_int)gradient[v] & (place[v] == vector_set((float)tap)));
            }
            const float *at = window + tap / 2 * row_size + tap % 2;
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < columns; j++) {
                    vector_float pixel = vector_set(at[i * row_size + j]);
                    for (int v = 0; v < vectors; v++) sum[i][j][v] = vector_fma(pixel, share[v], sum[i][j][v]);
                }
            }
        }
    }
    for (int i = 0; i < rows * columns; i++) {
        for (int v = 0; v < vectors; v++) {
            vector_store(sums + (i * vectors + v) * VECTOR_LENGTH, sum[i / columns][i % columns][v]);
        }
    }
}

/* One image: all channels, filters and rows of the window. */
LIANA__INLINE void add_channels(const int rows, const int columns, const int vectors,
                                const liana__conv2d_max_pool_geometry *p, const layout *planes, const float *gradients,
                                const float *places, const float *image, float *sums)
{
    const int block = vectors * VECTOR_LENGTH;
    for (int64_t c = 0; c < p->conv.channels; c++) {
        for (int64_t first = 0; first < p->conv.filters; first += block) {
            for (int64_t i = 0; i < p->conv.window[0]; i += rows, sums += rows * columns * block) {
                add_channel(rows, columns, vectors, p, planes->row_size, gradients + first, places + first,
                            p->conv.filters - first, image + c * planes->block_size + i * planes->row_size, sums);
            }
        }
    }
}

static void add_over_filters(const liana__conv2d_max_pool_geometry *p, const layout *planes, const division *cut,
                             const float *gradients, const float *places, const float *image, float *sums)
{
#if LIANA_VECTOR_BYTES == 64
    if (cut->rows == 5) {
        add_channels(5, 5, 1, p, planes, gradients, places, image, sums);
    } else if (cut->vectors == 2) {
        add_channels(3, 3, 2, p, planes, gradients, places, image, sums);
    } else {
        add_channels(3, 3, 1, p, planes, gradients, places, image, sums);
    }
#else
    if (cut->rows == 1) {
        add_channels(1, 5, 2, p, planes, gradients, places, image, sums);
    } else {
        add_channels(3, 3, 1, p, planes, gradients, places, image, sums);
    }
#endif
}

static void unpack_filters(const liana__geometry *g, const division *cut, const float *sums, float *gradient)
{
    int64_t block = cut->vectors * VECTOR_LENGTH, blocks = divide_round_up(g->filters, block);
    int64_t cells = g->window[0] * g->window[1];
    for (int64_t cell = 0; cell < cells; cell++) {
        for (int64_t c = 0; c < g->channels; c++) {
            for (int64_t f = 0; f < g->filters; f++) {
                *gradient++ = sums[((c * blocks + f / block) * cells + cell) * block + f % block];
            }
        }
    }
}

/* ---- gradient of the kernel ---- */

static division kernel_cut_of(const liana__geometry *g)
{
    if (runs_over_channels(g)) return cut_of(g);
    liana__geometry turned = *g; /* filters fill the vectors */
    turned.channels = g->filters;
    return cut_of(&turned);
}

static layout kernel_planes_of(const liana__geometry *g, const division *cut)
{
    return planes_of(g, runs_over_channels(g) ? cut->vectors * VECTOR_LENGTH : 1);
}

static liana_status prepare_kernel_gradient(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    const division cut = kernel_cut_of(&p.conv);
    const layout planes = kernel_planes_of(&p.conv, &cut);
    prepared->scratch_size = floats(planes.size + sums_size(&p.conv, &cut));
    size_t list = (size_t)(p.pooled[0] * p.pooled[1]) * (sizeof(int32_t) + sizeof(float)) + sizeof(int64_t);
    if (runs_over_channels(&p.conv)) prepared->scratch_size += (size_t)p.conv.filters * list;
    return LIANA_OK;
}

static liana_status run_kernel_gradient(const liana__call *call)
{
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(call->node);
    const liana__geometry *g = &p.conv;
    const division cut = kernel_cut_of(g);
    const layout planes = kernel_planes_of(g, &cut);
    int64_t windows = p.pooled[0] * p.pooled[1], size = windows * g->filters;
    filter_lists found = {.counts = call->scratch}; /* first, being the widest */
    float *image = call->scratch;
    if (runs_over_channels(g)) {
        found.sources = (int32_t *)(found.counts + g->filters);
        found.gradients = (float *)(found.sources + size);
        image = found.gradients + size;
    }
    float *sums = image + planes.size;
    memset(image, 0, floats(planes.size + sums_size(g, &cut)));
    for (int64_t n = 0; n < g->batch; n++) {
        const float *gradients = (const float *)call->src[2] + n * size;
        const float *places = (const float *)call->src[1] + (g->batch + n) * size;
        pack_image(g, &planes, call->src[0], n, image);
        if (runs_over_channels(g)) {
            make_filter_lists(&p, &planes, gradients, places, &found);
            add_over_channels(&p, &planes, &cut, &found, image, sums);
        } else {
            add_over_filters(&p, &planes, &cut, gradients, places, image, sums);
        }
    }
    if (runs_over_channels(g)) {
        unpack_channels(g, &planes, sums, call->dst);
    } else {
        unpack_filters(g, &cut, sums, call->dst);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_max_pool_kernel_gradient, .applicable = is_applicable, .prepare = prepare_kernel_gradient,
                     .run = run_kernel_gradient);
