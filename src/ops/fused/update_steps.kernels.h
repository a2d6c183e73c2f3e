/* update_steps.kernels.h - moving_average and root_descent of f32, for one instruction set. Operations are those of the
 * single ops, in their order, so that bits are the same. */
#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_math.h"
#include "ops/fused/update_steps.h"

LIANA__INLINE vector_float average(vector_float old, vector_float value, vector_float share, bool squares)
{
    if (squares) value = value * value;
    return old + share * (value - old);
}

LIANA__INLINE void average_all(float *dst, const float *old, const float *value, float share, bool squares,
                               int64_t count)
{
    const vector_float shares = vector_set(share);
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store(dst + i, average(vector_load(old + i), vector_load(value + i), shares, squares));
    }
    if (i == count) return;
    const vector_float last = vector_load_part(old + i, count - i), x = vector_load_part(value + i, count - i);
    vector_store_part(dst + i, average(last, x, shares, squares), count - i);
}

static liana_status run_moving_average(const liana__call *call)
{
    const liana__moving_average_attributes *own = call->node->attributes;
    const int64_t count = liana_shape_size(&call->node->shape);
    if (own->squares) {
        average_all(call->dst, call->src[0], call->src[1], (float)own->share, true, count);
    } else {
        average_all(call->dst, call->src[0], call->src[1], (float)own->share, false, count);
    }
    return LIANA_OK;
}

LIANA__INLINE vector_float descend(vector_float x, vector_float mean, vector_float square, vector_float rate,
                                   vector_float epsilon)
{
    return x - rate * mean / (vector_sqrt(square) + epsilon);
}

static liana_status run_root_descent(const liana__call *call)
{
    const liana__root_descent_attributes *own = call->node->attributes;
    const float *x = call->src[0], *mean = call->src[1], *square = call->src[2];
    const vector_float rate = vector_set(*(const float *)call->src[3]), epsilon = vector_set((float)own->epsilon);
    const int64_t count = liana_shape_size(&call->node->shape);
    float *dst = call->dst;
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        vector_store(dst + i,
                     descend(vector_load(x + i), vector_load(mean + i), vector_load(square + i), rate, epsilon));
    }
    if (i == count) return LIANA_OK;
    const int64_t rest = count - i;
    const vector_float last = descend(vector_load_part(x + i, rest), vector_load_part(mean + i, rest),
                                      vector_load_part(square + i, rest), rate, epsilon);
    vector_store_part(dst + i, last, rest);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(moving_average, .applicable = liana__applicable_f32, .run = run_moving_average);
LIANA__VECTOR_KERNEL(root_descent, .applicable = liana__applicable_f32, .run = run_root_descent);
