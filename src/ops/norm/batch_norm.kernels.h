/* batch_norm.kernels.h - batch normalisation of f32 or bf16, for one instruction set.
 *
 * x is read as a matrix whose rows are `period` elements: the shortest whole number of image rows (one for each N) that
 * fills tiles of vectors exactly. So few or odd channels need no special case. Lane i of a period belongs to channel i
 * % channels. The rest after the last period is less than one period. The kernels also serve the ops of
 * batch_norm_activation.c, which have the same first inputs. */
#include "base/memory.h"
#include "kernels/vector_activations.h"
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/norm/batch_norm.h"

#include <math.h>

enum { TILE_VECTORS = 4, TILE = TILE_VECTORS * VECTOR_LENGTH, MAX_PERIOD = 2048 };

typedef struct periods {
    int64_t channels;
    int64_t rows;   /* of x */
    int64_t period; /* elements */
    int64_t count;  /* whole periods in x */
    int64_t rest;   /* elements after them */
} periods;

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static periods periods_of(const liana__node *node)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(node);
    int64_t period = TILE / common_divisor(s.channels, TILE) * s.channels;
    if (period > MAX_PERIOD) period = VECTOR_LENGTH / common_divisor(s.channels, VECTOR_LENGTH) * s.channels;
    periods p = {.channels = s.channels, .rows = s.rows, .period = period};
    p.count = s.rows * s.channels / p.period;
    p.rest = s.rows * s.channels % p.period;
    return p;
}

/* Tiles of many rows are read out of order, which the processor's own prefetching does not follow: images that are too
 * large for the second-level cache are asked for a block of rows before they are needed. */
static bool is_far(liana_dtype dtype, const periods *p)
{
    return p->rows * p->channels * (int64_t)liana_dtype_size(dtype) > (int64_t)4 << 20;
}

/* Asks for vector v of a tile, at element i; one request does for two vectors of bf16. */
LIANA__INLINE void fetch(liana_dtype dtype, const void *x, int64_t i, int v)
{
    if (dtype == LIANA_F32 || v % 2 == 0) __builtin_prefetch(vector_at(dtype, x, i));
}

/* Arrays of one float or double for each lane, one after the other in scratch memory. */
static size_t lane_size(const periods *p, size_t element_size)
{
    return liana__align_up((size_t)p->period * element_size);
}

static float *float_lanes(const periods *p, void *scratch, size_t index)
{
    return (float *)((char *)scratch + index * lane_size(p, sizeof(float)));
}

/* Behind `floats` arrays of floats. */
static double *double_lanes(const periods *p, void *scratch, size_t floats, size_t index)
{
    return (double *)((char *)scratch + floats * lane_size(p, sizeof(float)) + index * lane_size(p, sizeof(double)));
}

/* Repeats the first `channels` elements over the period. */
static void repeat_channels(const periods *p, float *lanes)
{
    for (int64_t first = p->channels; first < p->period; first += p->channels) {
        memcpy(lanes + first, lanes, (size_t)p->channels * sizeof *lanes);
    }
}

/* Adds the sums of all lanes of each channel up in the first one. */
static void fold_channels(const periods *p, double *lanes)
{
    for (int64_t first = p->channels; first < p->period; first += p->channels) {
        for (int64_t c = 0; c < p->channels; c++) lanes[c] += lanes[first + c];
    }
}

/* Of one float for each lane: the parameters of a channel, in each of its lanes. */
typedef struct affine {
    float *mean, *scale, *beta;
} affine;

/* `index` is of the first array in scratch memory. */
static affine place_affine(const periods *p, void *scratch, size_t index)
{
    return (affine){float_lanes(p, scratch, index), float_lanes(p, scratch, index + 1),
                    float_lanes(p, scratch, index + 2)};
}

/* gamma / sqrt(variance + epsilon); vectors of the compiler's making. */
static void fill_scale(int64_t channels, float *restrict scale, const float *restrict gamma,
                       const float *restrict variance, float epsilon)
{
    for (int64_t c = 0; c < channels; c++) scale[c] = gamma[c] / sqrtf(variance[c] + epsilon);
}

/* The parameters are copied, since the result may be on an input. */
static void fill_affine(const periods *p, const affine *a, double epsilon, const float *gamma, const float *beta,
                        const float *mean, const float *variance)
{
    fill_scale(p->channels, a->scale, gamma, variance, (float)epsilon);
    memcpy(a->mean, mean, (size_t)p->channels * sizeof *mean);
    memcpy(a->beta, beta, (size_t)p->channels * sizeof *beta);
    repeat_channels(p, a->mean);
    repeat_channels(p, a->scale);
    repeat_channels(p, a->beta);
}

/* The parameters of one vector of lanes. */
typedef struct affine_vectors {
    vector_float mean, scale, beta;
} affine_vectors;

LIANA__INLINE affine_vectors load_affine(const affine *a, int64_t lane)
{
    return (affine_vectors){vector_load(a->mean + lane), vector_load(a->scale + lane), vector_load(a->beta + lane)};
}

LIANA__INLINE vector_float normalise(const affine_vectors *a, vector_float x)
{
    return vector_fma(x - a->mean, a->scale, a->beta);
}

/* Called with a constant dtype and activation. */
LIANA__INLINE vector_float activate(liana_dtype dtype, int activation, vector_float z)
{
    switch (activation) {
    case LIANA__FUSED_RELU: return vector_relu(z);
    case LIANA__FUSED_RELU6: return vector_relu6(z);
    case LIANA__FUSED_SWISH: return dtype == LIANA_BF16 ? vector_swish_bf16(z) : vector_swish(z);
    default: return z;
    }
}

/* dy in the backward pass through the activation of normalised x. */
LIANA__INLINE vector_float pass_gradient(liana_dtype dtype, int activation, const affine_vectors *a, vector_float x,
                                         vector_float dy)
{
    switch (activation) {
    case LIANA__FUSED_RELU: return vector_relu_gradient(normalise(a, x), dy);
    case LIANA__FUSED_RELU6: return vector_relu6_gradient(normalise(a, x), dy);
    case LIANA__FUSED_SWISH:
        return dtype == LIANA_BF16 ? vector_swish_gradient_bf16(normalise(a, x), dy)
                                   : vector_swish_gradient(normalise(a, x), dy);
    default: return dy;
    }
}

/* Runs code for any activation on the node's. */
LIANA__INLINE liana_status run_activated(const liana__call *call, liana_dtype dtype,
                                         liana_status (*run)(const liana__call *, liana_dtype, int))
{
    switch (liana__batch_norm_activation_of(call->node)) {
    case LIANA__FUSED_RELU: return run(call, dtype, LIANA__FUSED_RELU);
    case LIANA__FUSED_RELU6: return run(call, dtype, LIANA__FUSED_RELU6);
    case LIANA__FUSED_SWISH: return run(call, dtype, LIANA__FUSED_SWISH);
    default: return run(call, dtype, LIANA__FUSED_LINEAR);
    }
}

/* ---- normalisation: (x - mean) * scale + beta, where x - mean is exact for x near a large mean ---- */

static liana_status prepare_affine(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 3 * lane_size(&p, sizeof(float));
    return LIANA_OK;
}

/* The images of a segment's first op come from memory, and other ops before it have left nothing of them in the caches:
 * they are read one row after the other and asked for this many bytes ahead. (Two rows at a time, which saves loads of
 * parameters, halve the speed of that.) */
enum { BYTES_AHEAD = 2048 };

LIANA__INLINE void fetch_ahead(liana_dtype dtype, const void *x, int64_t i)
{
    __builtin_prefetch((const char *)vector_at(dtype, x, i) + BYTES_AHEAD);
}

/* The images to normalise; `residual` (NULL: none) is added before the activation. */
typedef struct affine_images {
    const void *x, *residual;
    void *y;
} affine_images;

/* `left` elements, or a vector, at i. */
LIANA__INLINE void normalise_vector(liana_dtype dtype, int activation, const affine_vectors *a,
                                    const affine_images *images, int64_t i, int64_t left)
{
    vector_float z = normalise(a, vector_load_up_to(dtype, images->x, i, left));
    if (images->residual) z += vector_load_up_to(dtype, images->residual, i, left);
    vector_store_up_to(dtype, images->y, i, activate(dtype, activation, z), left);
}

LIANA__INLINE void normalise_images(liana_dtype dtype, int activation, const periods *p, const affine *a,
                                    const affine_images *images)
{
    const int64_t done = p->count * p->period;
    for (int64_t at = 0; at < done; at += p->period) {
        for (int64_t lane = 0; lane < p->period; lane += VECTOR_LENGTH) {
            const affine_vectors parameters = load_affine(a, lane);
            if (dtype == LIANA_BF16) fetch_ahead(dtype, images->x, at + lane);
            normalise_vector(dtype, activation, &parameters, images, at + lane, VECTOR_LENGTH);
        }
    }
    for (int64_t lane = 0; lane < p->rest; lane += VECTOR_LENGTH) {
        const affine_vectors parameters = load_affine(a, lane);
        normalise_vector(dtype, activation, &parameters, images, done + lane, p->rest - lane);
    }
}

/* The statistics are one input or two; the residual follows them. */
LIANA__INLINE liana_status run_affine(const liana__call *call, liana_dtype dtype, int activation, bool stacked)
{
    const periods p = periods_of(call->node);
    const affine a = place_affine(&p, call->scratch, 0);
    const float *mean = call->src[3], *variance = stacked ? mean + p.channels : call->src[4];
    fill_affine(&p, &a, liana__batch_norm_epsilon(call->node), call->src[1], call->src[2], mean, variance);
    const uint32_t last = stacked ? 4 : 5;
    if (call->node->num_inputs > last) {
        normalise_images(dtype, activation, &p, &a, &(affine_images){call->src[0], call->src[last], call->dst});
    } else {
        normalise_images(dtype, activation, &p, &a, &(affine_images){call->src[0], NULL, call->dst});
    }
    return LIANA_OK;
}

LIANA__INLINE liana_status activated_training(const liana__call *call, liana_dtype dtype, int activation)
{
    return run_affine(call, dtype, activation, true);
}

LIANA__INLINE liana_status activated_inference(const liana__call *call, liana_dtype dtype, int activation)
{
    return run_affine(call, dtype, activation, false);
}

LIANA__INLINE liana_status training_as(const liana__call *call, liana_dtype dtype)
{
    return run_activated(call, dtype, activated_training);
}

LIANA__INLINE liana_status inference_as(const liana__call *call, liana_dtype dtype)
{
    return run_activated(call, dtype, activated_inference);
}

static liana_status run_training(const liana__call *call)
{
    return vector_run_as(call, training_as);
}

static liana_status run_inference(const liana__call *call)
{
    return vector_run_as(call, inference_as);
}

/* ---- statistics, in one pass: sums of x - shift and of its square over blocks in float, added in double about a
 * centre that never changes. The shift of a block is the mean of the block before, in its lane. So the cancellation of
 * squares is small compared with the variance, whatever the mean: between blocks whose means differ by d there is a
 * variance of about d^2 / 4. The centre, which is also the first block's shift, is the mean of the first rows. ---- */

enum { BLOCK_ROWS = 64, CENTRE_ROWS = 8 };

typedef struct moments {
    float *shift, *centre;
    double *sums, *squares; /* of x - centre */
} moments;

static liana_status prepare_statistics(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 2 * lane_size(&p, sizeof(float)) + 2 * lane_size(&p, sizeof(double));
    return LIANA_OK;
}

/* The same in all lanes of a channel. */
LIANA__INLINE void find_centre(liana_dtype dtype, const periods *p, const void *x, float *centre)
{
    int64_t rows = p->count < CENTRE_ROWS ? p->count : CENTRE_ROWS, copies = p->period / p->channels;
    if (rows == 0) {
        for (int64_t c = 0; c < p->channels; c++) centre[c] = vector_load_one(dtype, x, c);
    } else {
        for (int64_t lane = 0; lane < p->period; lane += VECTOR_LENGTH) {
            vector_float sum = vector_load_as(dtype, x, lane);
            for (int64_t i = 1; i < rows; i++) sum += vector_load_as(dtype, x, i * p->period + lane);
            vector_store(centre + lane, sum);
        }
        for (int64_t first = p->channels; first < p->period; first += p->channels) {
            for (int64_t c = 0; c < p->channels; c++) centre[c] += centre[first + c];
        }
        for (int64_t c = 0; c < p->channels; c++) centre[c] /= (float)(rows * copies);
    }
    repeat_channels(p, centre);
}

/* With delta = shift - centre: sum(x - centre) = sum(x - shift) + rows delta, and the same for squares. */
LIANA__INLINE void add_moments(const moments *m, int64_t lane, vector_float sum, vector_float square, int64_t rows)
{
    vector_float shift = vector_load(m->shift + lane);
    vector_wide wide_sum = vector_widen(sum), wide_square = vector_widen(square);
    vector_wide wide_shift = vector_widen(shift), wide_centre = vector_widen(vector_load(m->centre + lane));
    for (int h = 0; h < 2; h++) {
        double *sums = m->sums + lane + h * VECTOR_LENGTH / 2, *squares = m->squares + lane + h * VECTOR_LENGTH / 2;
        vector_double delta = wide_shift.half[h] - wide_centre.half[h], moved = delta * (double)rows;
        vector_double s = wide_sum.half[h];
        vector_store_double(sums, vector_load_double(sums) + (s + moved));
        vector_store_double(squares, vector_load_double(squares) + (wide_square.half[h] + delta * (s + s + moved)));
    }
    vector_store(m->shift + lane, vector_fma(sum, vector_set(1 / (float)rows), shift));
}

/* `rows` rows of some vectors of lanes. */
LIANA__INLINE void add_block(liana_dtype dtype, const periods *p, const moments *m, const void *x, int64_t first,
                             int64_t lane, int64_t rows, const int vectors)
{
    const int64_t ahead = BLOCK_ROWS * p->period;
    const bool far = is_far(dtype, p);
    vector_float shift[TILE_VECTORS], sum[TILE_VECTORS], square[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) {
        sum[v] = square[v] = vector_set(0);
        shift[v] = vector_load(m->shift + lane + v * VECTOR_LENGTH);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++) {
            int64_t at = (first + i) * p->period + lane + v * VECTOR_LENGTH;
            if (far) fetch(dtype, x, at + ahead, v);
            vector_float d = vector_load_as(dtype, x, at) - shift[v];
            sum[v] += d;
            square[v] = vector_fma(d, d, square[v]);
        }
    }
    for (int v = 0; v < vectors; v++) add_moments(m, lane + v * VECTOR_LENGTH, sum[v], square[v], rows);
}

/* The rest after the last period, about the centre. */
LIANA__INLINE void add_rest(liana_dtype dtype, const periods *p, const moments *m, const void *x)
{
    for (int64_t lane = 0; lane < p->rest; lane += VECTOR_LENGTH) {
        int64_t left = p->rest - lane;
        vector_float d = vector_load_up_to(dtype, x, p->count * p->period + lane, left) -
                         vector_load_up_to(LIANA_F32, m->centre, lane, left);
        vector_add_to(m->sums + lane, d);
        vector_add_to(m->squares + lane, d * d);
    }
}

/* f32, or f64 for parts to be merged. */
static void give_statistics(const periods *p, const moments *m, liana_dtype dtype, void *result)
{
    double share = 1 / (double)p->rows;
    fold_channels(p, m->sums);
    fold_channels(p, m->squares);
    for (int64_t c = 0; c < p->channels; c++) {
        double mean = m->sums[c] * share, variance = m->squares[c] * share - mean * mean;
        liana__store(result, dtype, c, m->centre[c] + mean);
        liana__store(result, dtype, p->channels + c, variance < 0 ? 0 : variance);
    }
}

LIANA__INLINE liana_status statistics_as(const liana__call *call, liana_dtype dtype)
{
    const periods p = periods_of(call->node);
    const void *x = call->src[0];
    const moments m = {float_lanes(&p, call->scratch, 0), float_lanes(&p, call->scratch, 1),
                       double_lanes(&p, call->scratch, 2, 0), double_lanes(&p, call->scratch, 2, 1)};
    find_centre(dtype, &p, x, m.centre);
    memcpy(m.shift, m.centre, (size_t)p.period * sizeof *m.shift);
    for (int64_t i = 0; i < p.period; i++) m.sums[i] = m.squares[i] = 0;
    for (int64_t first = 0; first < p.count; first += BLOCK_ROWS) {
        int64_t rows = p.count - first < BLOCK_ROWS ? p.count - first : BLOCK_ROWS, lane = 0;
        for (; lane + TILE <= p.period; lane += TILE) add_block(dtype, &p, &m, x, first, lane, rows, TILE_VECTORS);
        for (; lane < p.period; lane += VECTOR_LENGTH) add_block(dtype, &p, &m, x, first, lane, rows, 1);
    }
    add_rest(dtype, &p, &m, x);
    give_statistics(&p, &m, call->node->dtype, call->dst);
    return LIANA_OK;
}

static liana_status run_statistics(const liana__call *call)
{
    return vector_run_as(call, statistics_as);
}

/* ---- sums for the gradient: short blocks in float, added up in double ---- */

enum { SUM_ROWS = 32 };

typedef struct gradient_sums {
    const void *x, *dy;
    affine affine; /* without an activation only the mean is filled in */
    float *block_sum, *block_product;
    double *sums, *products; /* of dy and of dy (x - mean) */
} gradient_sums;

static liana_status prepare_gradient_sums(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 5 * lane_size(&p, sizeof(float)) + 2 * lane_size(&p, sizeof(double));
    return LIANA_OK;
}

/* `left` elements, or a vector, at element i, which belong to the lanes from `lane` on. */
typedef struct gradient_terms {
    vector_float dy, distance; /* from the mean */
} gradient_terms;

LIANA__INLINE gradient_terms find_terms(liana_dtype dtype, int activation, const gradient_sums *g, int64_t i,
                                        int64_t lane, int64_t left)
{
    affine_vectors a = {.mean = vector_load(g->affine.mean + lane)};
    if (activation) a = load_affine(&g->affine, lane);
    vector_float x = vector_load_up_to(dtype, g->x, i, left);
    vector_float dy = pass_gradient(dtype, activation, &a, x, vector_load_up_to(dtype, g->dy, i, left));
    return (gradient_terms){dy, x - a.mean};
}

/* A block of `rows` rows, one after the other as they lie in memory. */
LIANA__INLINE void add_products(liana_dtype dtype, int activation, const periods *p, const gradient_sums *sums,
                                int64_t first, int64_t rows)
{
    const gradient_sums own = *sums, *g = &own; /* stores to floats may change other memory */
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = (first + row) * p->period;
        for (int64_t lane = 0; lane < p->period; lane += VECTOR_LENGTH) {
            fetch_ahead(dtype, g->x, at + lane);
            fetch_ahead(dtype, g->dy, at + lane);
            const gradient_terms t = find_terms(dtype, activation, g, at + lane, lane, VECTOR_LENGTH);
            vector_float sum = vector_set(0), product = vector_set(0);
            if (row > 0) {
                sum = vector_load(g->block_sum + lane);
                product = vector_load(g->block_product + lane);
            }
            vector_store(g->block_sum + lane, sum + t.dy);
            vector_store(g->block_product + lane, vector_fma(t.distance, t.dy, product));
        }
    }
    for (int64_t lane = 0; lane < p->period; lane += VECTOR_LENGTH) {
        vector_add_to(g->sums + lane, vector_load(g->block_sum + lane));
        vector_add_to(g->products + lane, vector_load(g->block_product + lane));
    }
}

LIANA__INLINE void add_rest_products(liana_dtype dtype, int activation, const periods *p, const gradient_sums *g)
{
    const int64_t done = p->count * p->period;
    for (int64_t lane = 0; lane < p->rest; lane += VECTOR_LENGTH) {
        const gradient_terms t = find_terms(dtype, activation, g, done + lane, lane, p->rest - lane);
        vector_add_to(g->sums + lane, t.dy);
        vector_add_to(g->products + lane, t.dy * t.distance);
    }
}

static void give_gradient_sums(const periods *p, const gradient_sums *g, const liana__call *call)
{
    const float *variance = (const float *)call->src[2] + p->channels;
    double epsilon = liana__batch_norm_epsilon(call->node);
    liana_dtype dtype = call->node->dtype; /* f32, or f64 for parts to be merged */
    fold_channels(p, g->sums);
    fold_channels(p, g->products);
    for (int64_t c = 0; c < p->channels; c++) {
        liana__store(call->dst, dtype, c, g->sums[c]);
        liana__store(call->dst, dtype, p->channels + c, g->products[c] / sqrt(variance[c] + epsilon));
    }
}

LIANA__INLINE liana_status activated_gradient_sums(const liana__call *call, liana_dtype dtype, int activation)
{
    const periods p = periods_of(call->node);
    const float *statistics = call->src[2];
    const gradient_sums g = {call->src[0],
                             call->src[1],
                             place_affine(&p, call->scratch, 0),
                             float_lanes(&p, call->scratch, 3),
                             float_lanes(&p, call->scratch, 4),
                             double_lanes(&p, call->scratch, 5, 0),
                             double_lanes(&p, call->scratch, 5, 1)};
    if (activation) {
        fill_affine(&p, &g.affine, liana__batch_norm_epsilon(call->node), call->src[3], call->src[4], statistics,
                    statistics + p.channels);
    } else {
        memcpy(g.affine.mean, statistics, (size_t)p.channels * sizeof *statistics);
        repeat_channels(&p, g.affine.mean);
    }
    for (int64_t i = 0; i < p.period; i++) g.sums[i] = g.products[i] = 0;
    for (int64_t first = 0; first < p.count; first += SUM_ROWS) {
        int64_t rows = p.count - first < SUM_ROWS ? p.count - first : SUM_ROWS;
        add_products(dtype, activation, &p, &g, first, rows);
    }
    add_rest_products(dtype, activation, &p, &g);
    give_gradient_sums(&p, &g, call);
    return LIANA_OK;
}

LIANA__INLINE liana_status gradient_sums_as(const liana__call *call, liana_dtype dtype)
{
    return run_activated(call, dtype, activated_gradient_sums);
}

static liana_status run_gradient_sums(const liana__call *call)
{
    return vector_run_as(call, gradient_sums_as);
}

/* ---- gradient of the images: scale * dy + (slope * (x - mean) + shift) ---- */

static liana_status prepare_input_gradient(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 5 * lane_size(&p, sizeof(float));
    return LIANA_OK;
}

typedef struct gradient_lanes {
    affine affine; /* beta is of use only with an activation */
    float *slope, *shift;
} gradient_lanes;

/* With r = 1 / sqrt(variance + epsilon), scale = gamma r and share = 1 / N: -scale r sums[1] / N and
 * -scale sums[0] / N. */
static void fill_slope(int64_t channels, float *restrict slope, float *restrict shift, const float *restrict scale,
                       const float *restrict variance, const float *restrict sums, float epsilon, float share)
{
    for (int64_t c = 0; c < channels; c++) {
        slope[c] = -scale[c] / sqrtf(variance[c] + epsilon) * (sums[channels + c] * share);
        shift[c] = -scale[c] * (sums[c] * share);
    }
}

static gradient_lanes make_gradient_lanes(const periods *p, const liana__call *call, bool activated)
{
    const float *gamma = call->src[2], *statistics = call->src[3], *sums = call->src[4];
    const float *variance = statistics + p->channels, *beta = activated ? call->src[5] : statistics;
    gradient_lanes lanes = {place_affine(p, call->scratch, 0), float_lanes(p, call->scratch, 3),
                            float_lanes(p, call->scratch, 4)};
    double epsilon = liana__batch_norm_epsilon(call->node);
    fill_affine(p, &lanes.affine, epsilon, gamma, beta, statistics, variance);
    fill_slope(p->channels, lanes.slope, lanes.shift, lanes.affine.scale, variance, sums, (float)epsilon,
               (float)(1 / liana__batch_norm_summed_rows(call->node)));
    repeat_channels(p, lanes.slope);
    repeat_channels(p, lanes.shift);
    return lanes;
}

/* The parameters of one vector of lanes. */
typedef struct gradient_vectors {
    affine_vectors affine;
    vector_float slope, shift;
} gradient_vectors;

LIANA__INLINE gradient_vectors load_gradient(const gradient_lanes *l, int64_t lane)
{
    return (gradient_vectors){load_affine(&l->affine, lane), vector_load(l->slope + lane),
                              vector_load(l->shift + lane)};
}

typedef struct gradient_images {
    const void *x, *dy;
    void *dx;
} gradient_images;

/* `left` elements, or a vector, at i. */
LIANA__INLINE void give_input_gradient(liana_dtype dtype, int activation, const gradient_vectors *g,
                                       const gradient_images *images, int64_t i, int64_t left)
{
    vector_float x = vector_load_up_to(dtype, images->x, i, left);
    vector_float dy = vector_load_up_to(dtype, images->dy, i, left);
    dy = pass_gradient(dtype, activation, &g->affine, x, dy);
    vector_float dx = vector_fma(dy, g->affine.scale, vector_fma(x - g->affine.mean, g->slope, g->shift));
    vector_store_up_to(dtype, images->dx, i, dx, left);
}

LIANA__INLINE liana_status activated_input_gradient(const liana__call *call, liana_dtype dtype, int activation)
{
    const periods p = periods_of(call->node);
    const gradient_lanes lanes = make_gradient_lanes(&p, call, activation != LIANA__FUSED_LINEAR);
    const gradient_images images = {call->src[0], call->src[1], call->dst};
    const int64_t done = p.count * p.period;
    for (int64_t at = 0; at < done; at += p.period) {
        for (int64_t lane = 0; lane < p.period; lane += VECTOR_LENGTH) {
            const gradient_vectors parameters = load_gradient(&lanes, lane);
            fetch_ahead(dtype, images.x, at + lane);
            fetch_ahead(dtype, images.dy, at + lane);
            give_input_gradient(dtype, activation, &parameters, &images, at + lane, VECTOR_LENGTH);
        }
    }
    for (int64_t lane = 0; lane < p.rest; lane += VECTOR_LENGTH) {
        const gradient_vectors parameters = load_gradient(&lanes, lane);
        give_input_gradient(dtype, activation, &parameters, &images, done + lane, p.rest - lane);
    }
    return LIANA_OK;
}

LIANA__INLINE liana_status input_gradient_as(const liana__call *call, liana_dtype dtype)
{
    return run_activated(call, dtype, activated_input_gradient);
}

static liana_status run_input_gradient(const liana__call *call)
{
    return vector_run_as(call, input_gradient_as);
}

LIANA__VECTOR_KERNEL(batch_norm_statistics, .applicable = vector_applicable, .prepare = prepare_statistics,
                     .run = run_statistics);
LIANA__VECTOR_KERNEL(batch_norm_training, .applicable = vector_applicable, .prepare = prepare_affine,
                     .run = run_training);
LIANA__VECTOR_KERNEL(batch_norm_inference, .applicable = vector_applicable, .prepare = prepare_affine,
                     .run = run_inference);
LIANA__VECTOR_KERNEL(batch_norm_gradient_sums, .applicable = vector_applicable, .prepare = prepare_gradient_sums,
                     .run = run_gradient_sums);
LIANA__VECTOR_KERNEL(batch_norm_input_gradient, .applicable = vector_applicable, .prepare = prepare_input_gradient,
                     .run = run_input_gradient);
