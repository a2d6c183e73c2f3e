/* The formulas of activations. */
#include "layers/activation_functions.h"

#include "ir/graph.h"

#include <math.h>

static liana_tensor scalar_like(liana_location here, liana_tensor x, double value)
{
    return liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), value);
}

static liana_tensor plus(liana_location here, liana_tensor x, double summand)
{
    return liana_op_add_at(here, x, scalar_like(here, x, summand));
}

static liana_tensor times(liana_location here, liana_tensor x, double factor)
{
    return liana_op_multiply_at(here, x, scalar_like(here, x, factor));
}

static liana_tensor is_above(liana_location here, liana_tensor x, double limit)
{
    return liana_op_greater_at(here, x, scalar_like(here, x, limit));
}

static liana_tensor where(liana_location here, liana_tensor condition, liana_tensor a, liana_tensor b)
{
    return liana_op_select_at(here, condition, a, b);
}

/* ---- with a kink at 0 ---- */

liana_tensor liana__relu_of(liana_location here, liana_tensor x, double negative_slope, double max_value,
                            double threshold)
{
    const bool plain = negative_slope == 0 && threshold == 0;
    if (plain && max_value == 6) return liana_op_relu6_at(here, x);
    if (plain && isnan(max_value)) return liana_op_relu_at(here, x);
    liana_tensor above = isnan(max_value) ? x : liana_op_clip_at(here, x, 0, max_value);
    liana_tensor below = threshold == 0 ? x : plus(here, x, -threshold);
    return where(here, is_above(here, x, threshold), above, times(here, below, negative_slope));
}

/* The exponent is limited to 0, so that the branch that is not taken cannot overflow. At 0 the slope is TensorFlow's:
 * that of x. */
liana_tensor liana__elu_of(liana_location here, liana_tensor x, double alpha, double scale)
{
    liana_tensor zero = scalar_like(here, x, 0), above = liana_op_greater_equal_at(here, x, zero);
    liana_tensor below = where(here, above, zero, x);
    if (scale != 1) below = times(here, below, 1 / scale);
    below = liana_op_expm1_at(here, below);
    if (alpha != 1) below = times(here, below, alpha);
    return where(here, above, x, below);
}

/* Klambauer et al. 2017: scale * elu(x, alpha). */
liana_tensor liana__selu_of(liana_location here, liana_tensor x)
{
    const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return times(here, liana__elu_of(here, x, alpha, 1), scale);
}

liana_tensor liana__threshold_of(liana_location here, liana_tensor x, double threshold, double default_value)
{
    return where(here, is_above(here, x, threshold), x, scalar_like(here, x, default_value));
}

liana_tensor liana__hard_shrink_of(liana_location here, liana_tensor x, double threshold)
{
    return where(here, is_above(here, liana_op_abs_at(here, x), threshold), x, scalar_like(here, x, 0));
}

liana_tensor liana__soft_shrink_of(liana_location here, liana_tensor x, double threshold)
{
    liana_tensor is_below = liana_op_less_at(here, x, scalar_like(here, x, -threshold));
    liana_tensor below = where(here, is_below, plus(here, x, threshold), scalar_like(here, x, 0));
    return where(here, is_above(here, x, threshold), plus(here, x, -threshold), below);
}

/* ---- cut off on both sides ---- */

liana_tensor liana__hard_sigmoid_of(liana_location here, liana_tensor x)
{
    return liana_op_clip_at(here, plus(here, times(here, x, 1.0 / 6), 0.5), 0, 1);
}

liana_tensor liana__hard_sigmoid_keras2_of(liana_location here, liana_tensor x)
{
    return liana_op_clip_at(here, plus(here, times(here, x, 0.2), 0.5), 0, 1);
}

liana_tensor liana__hard_silu_of(liana_location here, liana_tensor x)
{
    return liana_op_multiply_at(here, x, liana__hard_sigmoid_of(here, x));
}

liana_tensor liana__hard_tanh_of(liana_location here, liana_tensor x)
{
    return liana_op_clip_at(here, x, -1, 1);
}

liana_tensor liana__sparse_sigmoid_of(liana_location here, liana_tensor x)
{
    return liana_op_clip_at(here, plus(here, times(here, x, 0.5), 0.5), 0, 1);
}

/* The integral of the one before: 0 up to -1, (x + 1)^2 / 4 up to 1, then x. */
liana_tensor liana__sparse_plus_of(liana_location here, liana_tensor x)
{
    liana_tensor square = times(here, liana_op_square_at(here, plus(here, x, 1)), 0.25);
    liana_tensor one = scalar_like(here, x, 1), zero = scalar_like(here, x, 0);
    liana_tensor upper = where(here, liana_op_less_at(here, x, one), square, x);
    return where(here, is_above(here, x, -1), upper, zero);
}

/* ---- smooth ---- */

/* log(1 + e^x) as max(x, 0) + log1p(e^-|x|), which cannot overflow. The gradient of this maximum at 0 is 1/2, that of
 * relu would be 0. */
liana_tensor liana__softplus_of(liana_location here, liana_tensor x)
{
    liana_tensor tail = liana_op_exp_at(here, liana_op_negate_at(here, liana_op_abs_at(here, x)));
    liana_tensor positive = liana_op_maximum_at(here, x, scalar_like(here, x, 0));
    return liana_op_add_at(here, positive, liana_op_log1p_at(here, tail));
}

liana_tensor liana__log_sigmoid_of(liana_location here, liana_tensor x)
{
    return liana_op_negate_at(here, liana__softplus_of(here, liana_op_negate_at(here, x)));
}

liana_tensor liana__softsign_of(liana_location here, liana_tensor x)
{
    return liana_op_divide_at(here, x, plus(here, liana_op_abs_at(here, x), 1));
}

/* Misra 2019: x tanh(log(1 + e^x)), which with n = e^x (e^x + 2) is x n / (n + 2). From x = 20 on the quotient is 1. */
liana_tensor liana__mish_of(liana_location here, liana_tensor x)
{
    liana_tensor power = liana_op_exp_at(here, liana_op_minimum_at(here, x, scalar_like(here, x, 20)));
    liana_tensor n = liana_op_multiply_at(here, power, plus(here, power, 2));
    return liana_op_multiply_at(here, x, liana_op_divide_at(here, n, plus(here, n, 2)));
}

liana_tensor liana__tanh_shrink_of(liana_location here, liana_tensor x)
{
    return liana_op_subtract_at(here, x, liana_op_tanh_at(here, x));
}

liana_tensor liana__squareplus_of(liana_location here, liana_tensor x, double b)
{
    liana_tensor root = liana_op_sqrt_at(here, plus(here, liana_op_square_at(here, x), b));
    return times(here, liana_op_add_at(here, x, root), 0.5);
}

/* ---- along axes ---- */

static bool find_axis(liana_location here, liana_tensor x, int64_t given, int64_t *axis)
{
    const int64_t rank = liana_tensor_shape(x).rank;
    *axis = given < 0 ? given + rank : given;
    if (*axis >= 1 && *axis < rank) return true;
    if (!x.graph || x.graph->status != LIANA_OK) return false;
    liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                      "activation: found the axis %lld of a result of rank %lld, expected one from 1 to %lld, or a "
                      "negative one; axis 0 is the batch",
                      (long long)given, (long long)rank, (long long)rank - 1);
    return false;
}

liana_tensor liana__along_axis(liana_location here, liana_tensor x, int64_t given, liana__formula *function)
{
    const int64_t rank = liana_tensor_shape(x).rank;
    int64_t axis;
    if (!find_axis(here, x, given, &axis)) return (liana_tensor){x.graph, 0};
    if (axis == rank - 1) return function(here, x);
    liana_axes swap = {.count = rank};
    for (int64_t i = 0; i < rank; i++) swap.values[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    return liana_op_transpose_at(here, function(here, liana_op_transpose_at(here, x, swap)), swap);
}

/* The greatest element is subtracted, so that no power overflows. Its gradient would cancel. */
liana_tensor liana__softmax_of(liana_location here, liana_tensor x, const liana_ints *axes)
{
    if (axes->count == 1) return liana__along_axis(here, x, axes->values[0], liana_op_softmax_at);
    liana_axes over = {.count = axes->count};
    for (int64_t i = 0; i < axes->count && i < LIANA_MAX_RANK; i++) {
        if (!find_axis(here, x, axes->values[i], &over.values[i])) return (liana_tensor){x.graph, 0};
    }
    liana_tensor greatest = liana_op_stop_gradient_at(here, liana_op_reduce_max_at(here, x, over, true));
    liana_tensor powers = liana_op_exp_at(here, liana_op_subtract_at(here, x, greatest));
    return liana_op_divide_at(here, powers, liana_op_reduce_sum_at(here, powers, over, true));
}

static liana_tensor sum_last(liana_location here, liana_tensor x)
{
    return liana_op_reduce_sum_at(here, x, LIANA_AXES(-1), true);
}

/* Martins and Astudillo 2016: max(x - t, 0) with the t at which these add up to 1. t lies within 1 below the greatest
 * element, and halving finds the elements above it: bool, of x's shape. */
static liana_tensor find_support(liana_location here, liana_tensor fixed)
{
    enum { HALVINGS = 30 };
    liana_tensor high = liana_op_reduce_max_at(here, fixed, LIANA_AXES(-1), true), low = plus(here, high, -1);
    liana_tensor one = scalar_like(here, fixed, 1);
    for (int i = 0; i < HALVINGS; i++) {
        liana_tensor middle = times(here, liana_op_add_at(here, low, high), 0.5);
        liana_tensor above = liana_op_relu_at(here, liana_op_subtract_at(here, fixed, middle));
        liana_tensor is_low = liana_op_greater_equal_at(here, sum_last(here, above), one);
        low = where(here, is_low, middle, low);
        high = where(here, is_low, high, middle);
    }
    return liana_op_greater_at(here, fixed, low);
}

/* max(x - t, 0), where t = (sum(share x) - 1) / count over the `count` elements of the support. */
static liana_tensor above_threshold(liana_location here, liana_tensor x, liana_tensor share, liana_tensor count)
{
    liana_tensor sum = sum_last(here, liana_op_multiply_at(here, share, x));
    liana_tensor t = liana_op_divide_at(here, plus(here, sum, -1), count);
    return liana_op_relu_at(here, liana_op_subtract_at(here, x, t));
}

liana_tensor liana__sparsemax_projection_of(liana_location here, liana_tensor x)
{
    liana_tensor support = find_support(here, liana_op_stop_gradient_at(here, x));
    liana_tensor in = liana_op_cast_at(here, support, liana_tensor_dtype(x));
    return above_threshold(here, x, in, sum_last(here, in));
}

/* Keras 3 adds the sums of the greatest 1, 2, .. elements of the support up, where the formula has the last of these
 * sums. So an element counts once for each element of the support that is not above it; equal ones share. */
liana_tensor liana__sparsemax_of(liana_location here, liana_tensor x)
{
    const liana_dtype dtype = liana_tensor_dtype(x);
    liana_tensor fixed = liana_op_stop_gradient_at(here, x);
    liana_tensor in = liana_op_cast_at(here, find_support(here, fixed), dtype);
    liana_shape rows = liana_tensor_shape(x), columns = rows;
    if (rows.rank == LIANA_MAX_RANK || rows.rank < 1) return liana__sparsemax_projection_of(here, x);
    rows.rank = columns.rank = rows.rank + 1;
    columns.dims[columns.rank - 1] = columns.dims[columns.rank - 2];
    columns.dims[columns.rank - 2] = rows.dims[rows.rank - 1] = 1;
    liana_tensor own = liana_op_reshape_at(here, fixed, rows), other = liana_op_reshape_at(here, fixed, columns);
    liana_tensor below = liana_op_cast_at(here, liana_op_greater_at(here, own, other), dtype);
    liana_tensor equal = liana_op_cast_at(here, liana_op_equal_at(here, own, other), dtype);
    liana_tensor counted = liana_op_add_at(here, below, times(here, equal, 0.5));
    counted = liana_op_multiply_at(here, counted, liana_op_reshape_at(here, in, columns));
    liana_tensor share = liana_op_reduce_sum_at(here, counted, LIANA_AXES(-1), false);
    share = liana_op_multiply_at(here, plus(here, share, 0.5), in);
    return above_threshold(here, x, liana_op_stop_gradient_at(here, share), sum_last(here, in));
}

liana_tensor liana__glu_of(liana_location here, liana_tensor x, int64_t given)
{
    const liana_shape shape = liana_tensor_shape(x);
    int64_t axis, start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    if (!find_axis(here, x, given, &axis)) return (liana_tensor){x.graph, 0};
    const int64_t size = shape.dims[axis];
    if (size % 2 != 0) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "activation: glu halves axis %lld, which has %lld elements; expected an even number",
                                 (long long)axis, (long long)size);
    }
    for (int i = 0; i < shape.rank; i++) limit[i] = shape.dims[i];
    limit[axis] = size / 2;
    liana_tensor first = liana_op_slice_at(here, x, start, limit, NULL);
    start[axis] = size / 2;
    limit[axis] = size;
    liana_tensor second = liana_op_slice_at(here, x, start, limit, NULL);
    return liana_op_multiply_at(here, first, liana_op_logistic_at(here, second));
}
