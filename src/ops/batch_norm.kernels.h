/* batch_norm.kernels.h - batch normalisation of floats, for one instruction set.
 *
 * x is read as a matrix whose rows are `period` floats: the shortest whole number of image rows (one for each N) that
 * fills vectors exactly, so that few or odd channels need no special case. Lane i of a period belongs to channel
 * i % channels. What is left after the last period is less than one. */
#include "base/memory.h"
#include "kernels/vector.h"
#include "kernels/vector_kernels.h"
#include "ops/applicable.h"
#include "ops/batch_norm.h"

#include <math.h>

typedef struct periods {
    int64_t channels;
    int64_t rows;   /* of x */
    int64_t period; /* floats */
    int64_t count;  /* whole periods in x */
    int64_t rest;   /* floats after them */
} periods;

static periods periods_of(const liana__node *node)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(node);
    int64_t shared = VECTOR_LENGTH;
    while (s.channels % shared != 0) shared /= 2;
    periods p = {.channels = s.channels, .rows = s.rows, .period = VECTOR_LENGTH / shared * s.channels};
    p.count = s.rows * s.channels / p.period;
    p.rest = s.rows * s.channels % p.period;
    return p;
}

/* Arrays of one float or double for each lane, one after the other in scratch memory. */
static size_t lane_size(const periods *p, size_t element_size)
{
    return liana__align_up((size_t)p->period * element_size);
}

/* Repeats the first `channels` elements over the period. */
static void repeat_channels(const periods *p, float *lanes)
{
    for (int64_t i = p->channels; i < p->period; i++) lanes[i] = lanes[i - p->channels];
}

/* ---- normalisation: (x - mean) * scale + beta, where x - mean is exact for x near a large mean ---- */

static liana_status prepare_affine(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 3 * lane_size(&p, sizeof(float));
    return LIANA_OK;
}

typedef struct affine {
    const float *mean, *scale, *beta;
} affine;

LIANA__INLINE vector_float affine_vector(const affine *a, int64_t lane, vector_float x)
{
    return vector_fma(x - vector_load(a->mean + lane), vector_load(a->scale + lane), vector_load(a->beta + lane));
}

static void run_affine_span(const affine *a, const float *x, float *y, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store(y + i, affine_vector(a, i, vector_load(x + i)));
    if (i < count) {
        vector_float part = affine_vector(a, i, vector_load_part(x + i, count - i));
        vector_store_part(y + i, part, count - i);
    }
}

/* The parameters are copied first: the result may lie on an input. */
static liana_status run_affine(const liana__call *call, const float *mean, const float *variance)
{
    const periods p = periods_of(call->node);
    const float *gamma = call->src[1], *beta = call->src[2], *x = call->src[0];
    double epsilon = liana__batch_norm_epsilon(call->node);
    char *scratch = call->scratch;
    float *means = (float *)scratch, *scales = (float *)(scratch + lane_size(&p, sizeof(float)));
    float *betas = (float *)(scratch + 2 * lane_size(&p, sizeof(float))), *y = call->dst;
    for (int64_t c = 0; c < p.channels; c++) {
        means[c] = mean[c];
        scales[c] = (float)(gamma[c] / sqrt(variance[c] + epsilon));
        betas[c] = beta[c];
    }
    repeat_channels(&p, means);
    repeat_channels(&p, scales);
    repeat_channels(&p, betas);
    const affine a = {means, scales, betas};
    for (int64_t i = 0; i < p.count; i++) run_affine_span(&a, x + i * p.period, y + i * p.period, p.period);
    run_affine_span(&a, x + p.count * p.period, y + p.count * p.period, p.rest);
    return LIANA_OK;
}

static liana_status run_training(const liana__call *call)
{
    const float *statistics = call->src[3];
    return run_affine(call, statistics, statistics + liana__batch_norm_sizes_of(call->node).channels);
}

static liana_status run_inference(const liana__call *call)
{
    return run_affine(call, call->src[3], call->src[4]);
}

/* ---- statistics: exact means and squared distances of short blocks, merged in double by Chan's formula (Chan, Golub,
 * LeVeque 1979), so that the second pass over a block finds it in the cache ---- */

enum { BLOCK_ROWS = 32, TILE_VECTORS = 4 };

static liana_status prepare_statistics(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 2 * lane_size(&p, sizeof(double));
    return LIANA_OK;
}

/* mean and squared distances of `count` elements, and the same of `more` others, become those of all. */
LIANA__INLINE void merge(double *mean, double *squares, double count, double other_mean, double other_squares,
                         double more)
{
    double delta = other_mean - *mean, share = more / (count + more);
    *mean += delta * share;
    *squares += other_squares + delta * delta * count * share;
}

/* Merges `rows` more rows of some vectors of lanes into means and squares, which hold `count` rows. */
LIANA__INLINE void add_block(const float *x, int64_t stride, int64_t rows, const int vectors, double *means,
                             double *squares, double count)
{
    vector_float sum[TILE_VECTORS], distance[TILE_VECTORS], square[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) sum[v] = distance[v] = square[v] = vector_set(0);
    for (int64_t i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++) sum[v] += vector_load(x + i * stride + v * VECTOR_LENGTH);
    }
    for (int v = 0; v < vectors; v++) sum[v] /= vector_set((float)rows);
    for (int64_t i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++) {
            vector_float d = vector_load(x + i * stride + v * VECTOR_LENGTH) - sum[v];
            distance[v] += d;
            square[v] = vector_fma(d, d, square[v]);
        }
    }
    for (int v = 0; v < vectors; v++) {
        float mean[VECTOR_LENGTH], off[VECTOR_LENGTH], sums[VECTOR_LENGTH];
        vector_store(mean, sum[v]);
        vector_store(off, distance[v]);
        vector_store(sums, square[v]);
        /* `off` sums what rounding the mean left: it makes mean and squares exact. */
        for (int k = 0; k < VECTOR_LENGTH; k++) {
            double error = off[k] / (double)rows;
            merge(&means[v * VECTOR_LENGTH + k], &squares[v * VECTOR_LENGTH + k], count, mean[k] + error,
                  sums[k] - error * off[k], (double)rows);
        }
    }
}

/* The lanes of a channel become one, the rows after the last period are merged one by one. */
static void fold_statistics(const periods *p, const float *x, double *means, double *squares, float *result)
{
    const float *rest = x + p->count * p->period;
    for (int64_t c = 0; c < p->channels; c++) {
        double mean = 0, square = 0, count = 0;
        for (int64_t i = c; i < p->period && p->count > 0; i += p->channels) {
            merge(&mean, &square, count, means[i], squares[i], (double)p->count);
            count += (double)p->count;
        }
        for (int64_t i = c; i < p->rest; i += p->channels) {
            merge(&mean, &square, count, rest[i], 0, 1);
            count += 1;
        }
        result[c] = (float)mean;
        result[p->channels + c] = (float)(square / count);
    }
}

static liana_status run_statistics(const liana__call *call)
{
    const periods p = periods_of(call->node);
    const float *x = call->src[0];
    double *means = call->scratch, *squares = (double *)((char *)call->scratch + lane_size(&p, sizeof(double)));
    for (int64_t i = 0; i < p.period; i++) means[i] = squares[i] = 0;
    for (int64_t first = 0; first < p.count; first += BLOCK_ROWS) {
        int64_t rows = p.count - first < BLOCK_ROWS ? p.count - first : BLOCK_ROWS, lane = 0;
        const float *block = x + first * p.period;
        for (; lane + TILE_VECTORS * VECTOR_LENGTH <= p.period; lane += TILE_VECTORS * VECTOR_LENGTH) {
            add_block(block + lane, p.period, rows, TILE_VECTORS, means + lane, squares + lane, (double)first);
        }
        for (; lane < p.period; lane += VECTOR_LENGTH) {
            add_block(block + lane, p.period, rows, 1, means + lane, squares + lane, (double)first);
        }
    }
    fold_statistics(&p, x, means, squares, call->dst);
    return LIANA_OK;
}

/* ---- sums for the gradient: short blocks in float, added up in double ---- */

enum { SUM_ROWS = 8 };

static liana_status prepare_gradient_sums(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = lane_size(&p, sizeof(float)) + 2 * lane_size(&p, sizeof(double));
    return LIANA_OK;
}

/* Adds sum(dy) and sum(dy (x - mean)) over `rows` rows of some vectors of lanes. */
LIANA__INLINE void add_products(const float *x, const float *dy, const float *mean, int64_t stride, int64_t rows,
                                const int vectors, double *sums, double *products)
{
    vector_float sum[TILE_VECTORS], product[TILE_VECTORS], centre[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) {
        sum[v] = product[v] = vector_set(0);
        centre[v] = vector_load(mean + v * VECTOR_LENGTH);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++) {
            vector_float d = vector_load(dy + i * stride + v * VECTOR_LENGTH);
            sum[v] += d;
            product[v] = vector_fma(vector_load(x + i * stride + v * VECTOR_LENGTH) - centre[v], d, product[v]);
        }
    }
    for (int v = 0; v < vectors; v++) {
        float parts[VECTOR_LENGTH], product_parts[VECTOR_LENGTH];
        vector_store(parts, sum[v]);
        vector_store(product_parts, product[v]);
        for (int k = 0; k < VECTOR_LENGTH; k++) {
            sums[v * VECTOR_LENGTH + k] += parts[k];
            products[v * VECTOR_LENGTH + k] += product_parts[k];
        }
    }
}

static void fold_sums(const periods *p, const liana__call *call, const double *sums, const double *products)
{
    const float *x = (const float *)call->src[0] + p->count * p->period;
    const float *dy = (const float *)call->src[1] + p->count * p->period, *statistics = call->src[2];
    double epsilon = liana__batch_norm_epsilon(call->node);
    float *result = call->dst;
    for (int64_t c = 0; c < p->channels; c++) {
        double sum = 0, product = 0;
        for (int64_t i = c; i < p->period; i += p->channels) {
            sum += sums[i];
            product += products[i];
        }
        for (int64_t i = c; i < p->rest; i += p->channels) {
            sum += dy[i];
            product += (double)dy[i] * ((double)x[i] - statistics[c]);
        }
        result[c] = (float)sum;
        result[p->channels + c] = (float)(product / sqrt(statistics[p->channels + c] + epsilon));
    }
}

static liana_status run_gradient_sums(const liana__call *call)
{
    const periods p = periods_of(call->node);
    const float *x = call->src[0], *dy = call->src[1];
    char *scratch = call->scratch;
    float *mean = (float *)scratch;
    double *sums = (double *)(scratch + lane_size(&p, sizeof(float)));
    double *products = (double *)((char *)sums + lane_size(&p, sizeof(double)));
    memcpy(mean, call->src[2], (size_t)p.channels * sizeof *mean);
    repeat_channels(&p, mean);
    for (int64_t i = 0; i < p.period; i++) sums[i] = products[i] = 0;
    for (int64_t first = 0; first < p.count; first += SUM_ROWS) {
        int64_t rows = p.count - first < SUM_ROWS ? p.count - first : SUM_ROWS, lane = 0, at = first * p.period;
        for (; lane + TILE_VECTORS * VECTOR_LENGTH <= p.period; lane += TILE_VECTORS * VECTOR_LENGTH) {
            add_products(x + at + lane, dy + at + lane, mean + lane, p.period, rows, TILE_VECTORS, sums + lane,
                         products + lane);
        }
        for (; lane < p.period; lane += VECTOR_LENGTH) {
            add_products(x + at + lane, dy + at + lane, mean + lane, p.period, rows, 1, sums + lane, products + lane);
        }
    }
    fold_sums(&p, call, sums, products);
    return LIANA_OK;
}

/* ---- gradient of the images: scale * dy + (slope * (x - mean) + shift) ---- */

static liana_status prepare_input_gradient(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const periods p = periods_of(node);
    prepared->scratch_size = 4 * lane_size(&p, sizeof(float));
    return LIANA_OK;
}

typedef struct gradient_lanes {
    float *mean, *scale, *slope, *shift;
} gradient_lanes;

static gradient_lanes make_gradient_lanes(const periods *p, const liana__call *call)
{
    const float *gamma = call->src[2], *statistics = call->src[3], *sums = call->src[4];
    size_t size = lane_size(p, sizeof(float));
    char *scratch = call->scratch;
    gradient_lanes lanes = {(float *)scratch, (float *)(scratch + size), (float *)(scratch + 2 * size),
                            (float *)(scratch + 3 * size)};
    double epsilon = liana__batch_norm_epsilon(call->node), rows = (double)p->rows;
    for (int64_t c = 0; c < p->channels; c++) {
        double r = 1 / sqrt(statistics[p->channels + c] + epsilon), scale = gamma[c] * r;
        lanes.mean[c] = statistics[c];
        lanes.scale[c] = (float)scale;
        lanes.slope[c] = (float)(-scale * r * sums[p->channels + c] / rows);
        lanes.shift[c] = (float)(-scale * sums[c] / rows);
    }
    repeat_channels(p, lanes.mean);
    repeat_channels(p, lanes.scale);
    repeat_channels(p, lanes.slope);
    repeat_channels(p, lanes.shift);
    return lanes;
}

LIANA__INLINE vector_float gradient_vector(const gradient_lanes *l, int64_t lane, vector_float x, vector_float dy)
{
    vector_float through =
        vector_fma(x - vector_load(l->mean + lane), vector_load(l->slope + lane), vector_load(l->shift + lane));
    return vector_fma(dy, vector_load(l->scale + lane), through);
}

static void run_gradient_span(const gradient_lanes *l, const float *x, const float *dy, float *dx, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store(dx + i, gradient_vector(l, i, vector_load(x + i), vector_load(dy + i)));
    }
    if (i < count) {
        int64_t left = count - i;
        vector_float part = gradient_vector(l, i, vector_load_part(x + i, left), vector_load_part(dy + i, left));
        vector_store_part(dx + i, part, left);
    }
}

static liana_status run_input_gradient(const liana__call *call)
{
    const periods p = periods_of(call->node);
    const gradient_lanes lanes = make_gradient_lanes(&p, call);
    const float *x = call->src[0], *dy = call->src[1];
    float *dx = call->dst;
    for (int64_t i = 0; i < p.count; i++) {
        run_gradient_span(&lanes, x + i * p.period, dy + i * p.period, dx + i * p.period, p.period);
    }
    int64_t done = p.count * p.period;
    run_gradient_span(&lanes, x + done, dy + done, dx + done, p.rest);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(batch_norm_statistics, .applicable = liana__applicable_f32, .prepare = prepare_statistics,
                     .run = run_statistics);
LIANA__VECTOR_KERNEL(batch_norm_training, .applicable = liana__applicable_f32, .prepare = prepare_affine,
                     .run = run_training);
LIANA__VECTOR_KERNEL(batch_norm_inference, .applicable = liana__applicable_f32, .prepare = prepare_affine,
                     .run = run_inference);
LIANA__VECTOR_KERNEL(batch_norm_gradient_sums, .applicable = liana__applicable_f32, .prepare = prepare_gradient_sums,
                     .run = run_gradient_sums);
LIANA__VECTOR_KERNEL(batch_norm_input_gradient, .applicable = liana__applicable_f32, .prepare = prepare_input_gradient,
                     .run = run_input_gradient);
