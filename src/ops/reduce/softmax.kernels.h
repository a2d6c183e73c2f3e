/* softmax.kernels.h - softmax, its gradient and log_softmax of rows of floats, for one instruction set. */
#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_rows.h"
#include "ops/reduce/softmax.h"

static liana_status run_softmax(const liana__call *call)
{
    int64_t length = liana__row_length(&call->node->shape), size = liana_shape_size(&call->node->shape);
    for (int64_t first = 0; first < size; first += length) {
        const float *src = (const float *)call->src[0] + first;
        float *dst = (float *)call->dst + first;
        vector_row_scale(dst, 1 / vector_row_exp(dst, src, vector_row_max(src, length), length), length);
    }
    return LIANA_OK;
}

static liana_status run_log_softmax(const liana__call *call)
{
    int64_t length = liana__row_length(&call->node->shape), size = liana_shape_size(&call->node->shape);
    for (int64_t first = 0; first < size; first += length) {
        const float *src = (const float *)call->src[0] + first;
        float *dst = (float *)call->dst + first;
        float maximum = vector_row_max(src, length);
        float log_sum = (float)log(vector_row_exp(NULL, src, maximum, length));
        for (int64_t i = 0; i < length; i++) dst[i] = src[i] - maximum - log_sum;
    }
    return LIANA_OK;
}

/* A row is read twice while it is in the cache, and written once. */
static liana_status run_softmax_gradient(const liana__call *call)
{
    const int64_t length = liana__row_length(&call->node->shape), size = liana_shape_size(&call->node->shape);
    for (int64_t first = 0; first < size; first += length) {
        const float *y = (const float *)call->src[0] + first, *dy = (const float *)call->src[1] + first;
        float *dx = (float *)call->dst + first;
        vector_float sums = {0};
        int64_t i = 0;
        for (; i + VECTOR_LENGTH <= length; i += VECTOR_LENGTH) sums += vector_load(y + i) * vector_load(dy + i);
        float sum = vector_reduce_add(sums);
        for (; i < length; i++) sum += y[i] * dy[i];
        for (i = 0; i + VECTOR_LENGTH <= length; i += VECTOR_LENGTH) {
            vector_store(dx + i, vector_load(y + i) * (vector_load(dy + i) - sum));
        }
        for (; i < length; i++) dx[i] = y[i] * (dy[i] - sum);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(softmax, .applicable = liana__applicable_f32, .run = run_softmax);
LIANA__VECTOR_KERNEL(log_softmax, .applicable = liana__applicable_f32, .run = run_log_softmax);
LIANA__VECTOR_KERNEL(softmax_gradient, .applicable = liana__applicable_f32, .run = run_softmax_gradient);
