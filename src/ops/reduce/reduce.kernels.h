/* reduce.kernels.h - reductions of f32 or bf16, for one instruction set.
 *
 * Joined axes that alternate kept, reduced, kept are [outer, count, inner]: everything, the last axis, leading axes,
 * the middle axes of images. Sums are taken in floats over short blocks and from block to block in doubles, in an order
 * that depends on the shape only. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/reduce/reduce.h"

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
    if (!vector_applicable(node, reason)) return false;
    *reason = node->op == &liana__op_reduce_prod ? "no vector form"
              : !find_layout(node, &in)          ? "the reduced axes are not next to each other"
                                                 : NULL;
    return !*reason;
}

/* ---- sums ---- */

enum { BLOCK = 16 /* additions in floats, one after the other */, TILE = 4 * VECTOR_LENGTH };

/* The sum of a contiguous run. */
LIANA__INLINE double sum_run(liana_dtype dtype, const void *src, int64_t count)
{
    double total = 0;
    int64_t i = 0;
    while (i < count) {
        vector_float sum[4] = {{0}};
        int64_t end = count - i < BLOCK * TILE ? count : i + BLOCK * TILE;
        for (; i + TILE <= end; i += TILE) {
            for (int k = 0; k < 4; k++) sum[k] += vector_load_as(dtype, src, i + k * VECTOR_LENGTH);
        }
        for (; i < end; i += VECTOR_LENGTH) {
            sum[0] += vector_load_up_to(dtype, src, i, end - i);
        }
        i = end;
        total += vector_reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    return total;
}

/* Adds up to 4 vectors' width of columns over rows; `width` floats of totals. */
LIANA__INLINE void sum_columns(liana_dtype dtype, const void *src, int64_t rows, int64_t stride, int64_t width,
                               double totals[TILE])
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
                for (int k = 0; k < 4; k++) sum[k] += vector_load_as(dtype, src, row * stride + k * VECTOR_LENGTH);
            }
        } else {
            for (int64_t row = first; row < end; row++) {
                for (int k = 0; k < 4 && parts[k]; k++) {
                    sum[k] += vector_load_part_as(dtype, src, row * stride + k * VECTOR_LENGTH, parts[k]);
                }
            }
        }
        for (int k = 0; k < 4; k++) vector_add_to(totals + k * VECTOR_LENGTH, sum[k]);
    }
}

/* A mean is the sum divided once, in double. A sum of bf16 may be `wide`: f32. */
LIANA__INLINE void run_sum(liana_dtype dtype, const layout *in, const void *src, void *dst, liana_dtype result,
                           double divisor)
{
    if (in->inner == 1) {
        for (int64_t i = 0; i < in->outer; i++) {
            double sum = sum_run(dtype, vector_at(dtype, src, i * in->count), in->count);
            vector_store_one(result, dst, i, (float)(sum / divisor));
        }
        return;
    }
    for (int64_t i = 0; i < in->outer; i++) {
        for (int64_t first = 0; first < in->inner; first += TILE) {
            int64_t width = in->inner - first < TILE ? in->inner - first : TILE;
            double totals[TILE];
            const void *columns = vector_at(dtype, src, i * in->count * in->inner + first);
            sum_columns(dtype, columns, in->count, in->inner, width, totals);
            for (int64_t k = 0; k < width; k++) {
                vector_store_one(result, dst, i * in->inner + first + k, (float)(totals[k] / divisor));
            }
        }
    }
}

/* ---- extremes ---- */

/* The greater of two, or the lesser if `sign` is -1 (then both are stored negated); NaN if either is. */
LIANA__INLINE vector_float extreme(vector_float best, vector_float x)
{
    return vector_select((best >= x) | (best != best), best, x);
}

LIANA__INLINE float extreme_run(liana_dtype dtype, const void *src, int64_t count, float sign)
{
    vector_float best = vector_set(-INFINITY);
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        best = extreme(best, vector_load_as(dtype, src, i) * sign);
    }
    float result = sign * best[0];
    for (int k = 1; k < VECTOR_LENGTH; k++) {
        float x = sign * best[k];
        if (!(sign * result >= sign * x || result != result)) result = x;
    }
    for (; i < count; i++) {
        float x = vector_load_one(dtype, src, i);
        if (!(sign * result >= sign * x || result != result)) result = x;
    }
    return result;
}

/* Row by row into the result, which stays in the cache: rows are as long as images have channels. */
LIANA__INLINE void extreme_rows(liana_dtype dtype, const void *src, void *dst, int64_t count, int64_t inner, float sign)
{
    memcpy(dst, src, (size_t)inner * liana_dtype_size(dtype));
    for (int64_t row = 1; row < count; row++) {
        for (int64_t i = 0; i < inner; i += VECTOR_LENGTH) {
            vector_float best = vector_load_up_to(dtype, dst, i, inner - i) * sign;
            vector_float x = vector_load_up_to(dtype, src, row * inner + i, inner - i) * sign;
            vector_store_up_to(dtype, dst, i, extreme(best, x) * sign, inner - i);
        }
    }
}

LIANA__INLINE void run_extreme(liana_dtype dtype, const layout *in, const void *src, void *dst, float sign)
{
    for (int64_t i = 0; i < in->outer; i++) {
        if (in->inner == 1) {
            const void *run = vector_at(dtype, src, i * in->count);
            vector_store_one(dtype, dst, i, extreme_run(dtype, run, in->count, sign));
        } else {
            extreme_rows(dtype, vector_at(dtype, src, i * in->count * in->inner),
                         (char *)dst + (size_t)(i * in->inner) * liana_dtype_size(dtype), in->count, in->inner, sign);
        }
    }
}

LIANA__INLINE liana_status run_as(const liana__call *call, liana_dtype dtype)
{
    const liana__op *op = call->node->op;
    layout in;
    if (!find_layout(call->node, &in)) return LIANA_INTERNAL;
    if (op == &liana__op_reduce_max || op == &liana__op_reduce_min) {
        run_extreme(dtype, &in, call->src[0], call->dst, op == &liana__op_reduce_max ? 1 : -1);
    } else {
        run_sum(dtype, &in, call->src[0], call->dst, call->node->dtype,
                op == &liana__op_reduce_mean ? (double)in.count : 1);
    }
    return LIANA_OK;
}

static liana_status run_reduce(const liana__call *call)
{
    return vector_run_as(call, run_as);
}

LIANA__VECTOR_KERNEL(reduce, .applicable = is_one_run, .run = run_reduce);
