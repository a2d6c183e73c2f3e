/* reduce.kernels.h - reductions of floats, for one instruction set.
 *
 * Joined axes that alternate kept, reduced, kept are [outer, count, inner]: everything, the last axis, leading axes,
 * the middle axes of images. Sums are taken in floats over short blocks and from block to block in doubles, in an order
 * that depends on the shape only. */
#include "kernels/vector.h"
#include "kernels/vector_kernels.h"
#include "ops/reduce.h"

typedef struct layout {
    int64_t outer;
    int64_t count;
    int64_t inner;
} layout;

/* False if the reduced axes are more than one run. */
static bool find_layout(const liana__node *node, layout *out)
{
    const liana__reduce_attributes *options = node->attributes;
    const liana_shape *shape = liana__input_shape(node, 0);
    bool reduced[LIANA_MAX_RANK] = {false};
    for (int64_t i = 0; i < options->axes.count; i++) reduced[options->axes.values[i]] = true;
    *out = (layout){1, 1, 1};
    bool behind = false; /* a kept axis was seen behind a reduced one */
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 1) continue;
        if (reduced[i]) {
            if (behind) return false;
            out->count *= shape->dims[i];
        } else if (out->count > 1) {
            behind = true;
            out->inner *= shape->dims[i];
        } else {
            out->outer *= shape->dims[i];
        }
    }
    return true;
}

static bool is_one_run(const liana__node *node, const char **reason)
{
    layout in;
    *reason = node->dtype != LIANA_F32             ? "not f32"
              : node->op == &liana__op_reduce_prod ? "no vector form"
              : !find_layout(node, &in)            ? "the reduced axes are not next to each other"
                                                   : NULL;
    return !*reason;
}

/* ---- sums ---- */

enum { BLOCK = 16 /* additions in floats, one after the other */, TILE = 4 * VECTOR_LENGTH };

/* The sum of a contiguous run. */
static double sum_run(const float *src, int64_t count)
{
    double total = 0;
    int64_t i = 0;
    while (i < count) {
        vector_float sum[4] = {{0}};
        int64_t end = count - i < BLOCK * TILE ? count : i + BLOCK * TILE;
        for (; i + TILE <= end; i += TILE) {
            for (int k = 0; k < 4; k++) sum[k] += vector_load(src + i + k * VECTOR_LENGTH);
        }
        for (; i < end; i += VECTOR_LENGTH) {
            sum[0] += vector_load_part(src + i, end - i < VECTOR_LENGTH ? end - i : VECTOR_LENGTH);
        }
        i = end;
        total += vector_reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    return total;
}

/* Adds up to 4 vectors' width of columns over rows; `width` floats of totals. */
static void sum_columns(const float *src, int64_t rows, int64_t stride, int64_t width, double totals[TILE])
{
    int64_t parts[4];
    for (int k = 0; k < 4; k++) {
        int64_t left = width - k * VECTOR_LENGTH;
        parts[k] = left < 0 ? 0 : left > VECTOR_LENGTH ? VECTOR_LENGTH : left;
    }
    for (int64_t i = 0; i < TILE; i++) totals[i] = 0;
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = rows - first < BLOCK ? rows : first + BLOCK;
        vector_float sum[4] = {{0}};
        if (width == TILE) {
            for (int64_t row = first; row < end; row++) {
                for (int k = 0; k < 4; k++) sum[k] += vector_load(src + row * stride + k * VECTOR_LENGTH);
            }
        } else {
            for (int64_t row = first; row < end; row++) {
                for (int k = 0; k < 4 && parts[k]; k++) {
                    sum[k] += vector_load_part(src + row * stride + k * VECTOR_LENGTH, parts[k]);
                }
            }
        }
        for (int64_t i = 0; i < TILE; i++) totals[i] += sum[i / VECTOR_LENGTH][i % VECTOR_LENGTH];
    }
}

/* A mean is the sum divided once, in double. */
static void run_sum(const layout *in, const float *src, float *dst, double divisor)
{
    if (in->inner == 1) {
        for (int64_t i = 0; i < in->outer; i++) dst[i] = (float)(sum_run(src + i * in->count, in->count) / divisor);
        return;
    }
    for (int64_t i = 0; i < in->outer; i++) {
        for (int64_t first = 0; first < in->inner; first += TILE) {
            int64_t width = in->inner - first < TILE ? in->inner - first : TILE;
            double totals[TILE];
            sum_columns(src + i * in->count * in->inner + first, in->count, in->inner, width, totals);
            for (int64_t k = 0; k < width; k++) dst[i * in->inner + first + k] = (float)(totals[k] / divisor);
        }
    }
}

/* ---- extremes ---- */

/* The greater of two, or the lesser if `sign` is -1 (then both are stored negated); NaN if either is. */
LIANA__INLINE vector_float extreme(vector_float best, vector_float x)
{
    return vector_select((best >= x) | (best != best), best, x);
}

static float extreme_run(const float *src, int64_t count, float sign)
{
    vector_float best = vector_set(-INFINITY);
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) best = extreme(best, vector_load(src + i) * sign);
    float result = sign * best[0];
    for (int k = 1; k < VECTOR_LENGTH; k++) {
        float x = sign * best[k];
        if (!(sign * result >= sign * x || result != result)) result = x;
    }
    for (; i < count; i++) {
        if (!(sign * result >= sign * src[i] || result != result)) result = src[i];
    }
    return result;
}

/* Row by row into the result, which stays in the cache: rows are as long as images have channels. */
static void extreme_rows(const float *src, float *dst, int64_t count, int64_t inner, float sign)
{
    memcpy(dst, src, (size_t)inner * sizeof *dst);
    for (int64_t row = 1; row < count; row++) {
        const float *from = src + row * inner;
        for (int64_t i = 0; i < inner; i += VECTOR_LENGTH) {
            int64_t part = inner - i < VECTOR_LENGTH ? inner - i : VECTOR_LENGTH;
            vector_float best = vector_load_part(dst + i, part) * sign, x = vector_load_part(from + i, part) * sign;
            vector_store_part(dst + i, extreme(best, x) * sign, part);
        }
    }
}

static void run_extreme(const layout *in, const float *src, float *dst, float sign)
{
    for (int64_t i = 0; i < in->outer; i++) {
        if (in->inner == 1) {
            dst[i] = extreme_run(src + i * in->count, in->count, sign);
        } else {
            extreme_rows(src + i * in->count * in->inner, dst + i * in->inner, in->count, in->inner, sign);
        }
    }
}

static liana_status run_reduce(const liana__call *call)
{
    const liana__op *op = call->node->op;
    layout in;
    if (!find_layout(call->node, &in)) return LIANA_INTERNAL;
    if (op == &liana__op_reduce_max || op == &liana__op_reduce_min) {
        run_extreme(&in, call->src[0], call->dst, op == &liana__op_reduce_max ? 1 : -1);
    } else {
        run_sum(&in, call->src[0], call->dst, op == &liana__op_reduce_mean ? (double)in.count : 1);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(reduce, .applicable = is_one_run, .run = run_reduce);
