/* update_steps.kernels.h - moving_average and root_descent of f32, for one instruction set. Operations are those of the
 * single ops, in their order, so that bits are the same. */
#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_math.h"
#include "ops/fused/update_steps.h"

#include <math.h>

LIANA__INLINE vector_float average(vector_float old, vector_float value, vector_float share, bool squares)
{
    if (squares) value = value * value;
    return old + share * (value - old);
}

/* Ways to divide the value. A product with the reciprocal of a power of two, which is exact, is the same number as the
 * quotient, and most batches have such a size. */
typedef enum division {
    BY_NOTHING,
    BY_PRODUCT,
    BY_QUOTIENT,
} division;

LIANA__INLINE vector_float divide_value(vector_float value, division how, vector_float by)
{
    return how == BY_NOTHING ? value : how == BY_PRODUCT ? value * by : value / by;
}

/* Called with constants, so that each combination becomes a loop of its own. true: all results are finite. */
LIANA__INLINE bool average_all(const liana__call *call, float share, bool squares, division how, float divisor)
{
    const float *old = call->src[0], *value = call->src[1];
    const vector_float shares = vector_set(share), by = vector_set(divisor);
    const int64_t count = liana_shape_size(&call->node->shape);
    float *dst = call->dst;
    vector_int bad = {0};
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        const vector_float x = divide_value(vector_load(value + i), how, by);
        const vector_float result = average(vector_load(old + i), x, shares, squares);
        vector_store(dst + i, result);
        bad |= vector_not_finite(result);
    }
    const int64_t rest = count - i;
    if (rest > 0) {
        const vector_float x = divide_value(vector_load_part(value + i, rest), how, by);
        const vector_float last = average(vector_load_part(old + i, rest), x, shares, squares);
        vector_store_part(dst + i, last, rest);
        bad |= vector_not_finite(vector_load_part(dst + i, rest)); /* lanes behind are 0 */
    }
    return !vector_any(bad);
}

LIANA__INLINE bool average_some(const liana__call *call, division how, float divisor)
{
    const liana__moving_average_attributes *own = call->node->attributes;
    const float share = (float)own->share;
    return own->squares ? average_all(call, share, true, how, divisor) : average_all(call, share, false, how, divisor);
}

/* And its reciprocal is a normal number, far from both ends of the exponents. */
static bool is_power_of_two(float number)
{
    int exponent;
    return fabsf(frexpf(number, &exponent)) == 0.5f && exponent > -120 && exponent < 120;
}

static bool average_values(const liana__call *call)
{
    if (call->node->num_inputs == 2) return average_some(call, BY_NOTHING, 1);
    const float count = *(const float *)call->src[2];
    return is_power_of_two(count) ? average_some(call, BY_PRODUCT, 1 / count) : average_some(call, BY_QUOTIENT, count);
}

static void note(const liana__call *call, bool finite)
{
    if (!finite && call->has_non_finite) *call->has_non_finite = true;
}

static liana_status run_moving_average(const liana__call *call)
{
    note(call, average_values(call));
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
    vector_int bad = {0};
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) {
        const vector_float result =
            descend(vector_load(x + i), vector_load(mean + i), vector_load(square + i), rate, epsilon);
        vector_store(dst + i, result);
        bad |= vector_not_finite(result);
    }
    const int64_t rest = count - i;
    if (rest > 0) {
        const vector_float last = descend(vector_load_part(x + i, rest), vector_load_part(mean + i, rest),
                                          vector_load_part(square + i, rest), rate, epsilon);
        vector_store_part(dst + i, last, rest);
        bad |= vector_not_finite(vector_load_part(dst + i, rest)); /* lanes behind are 0 */
    }
    note(call, !vector_any(bad));
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(moving_average, .applicable = liana__applicable_f32, .run = run_moving_average,
                     .notes_non_finite = true);
LIANA__VECTOR_KERNEL(root_descent, .applicable = liana__applicable_f32, .run = run_root_descent,
                     .notes_non_finite = true);
