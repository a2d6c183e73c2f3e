/* Functions of keras.ops over axes, composed of others: without NaN, quantiles, differences. */
#include "layers/operation/numbers.h"

#include <liana/functions.h>
#include <math.h>
#include <string.h>

static liana_tensor nothing(const liana__operation_call *call)
{
    return (liana_tensor){call->layer->inputs[0].graph, 0};
}

static liana_tensor number(liana_location here, liana_tensor like, double value)
{
    return liana_graph_scalar_at(here, like.graph, liana_tensor_dtype(like), value);
}

/* A function of the first operand over its axes. */
typedef liana_tensor over_axes(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

static liana_tensor along(liana__operation_call *call, over_axes *function)
{
    liana_axes axes;
    if (!liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    return function(call->here, call->operands[0], axes, liana__operation_flag(call, "keepdims"));
}

/* ---- without NaN ---- */

static liana_tensor filled(liana_location here, liana_tensor x, double value)
{
    return liana_op_where_at(here, liana_op_is_nan_at(here, x), number(here, x, value), x);
}

static liana_tensor nan_sum(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_reduce_sum_at(here, filled(here, x, 0), axes, keep_dims);
}

static liana_tensor nan_prod(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_reduce_prod_at(here, filled(here, x, 1), axes, keep_dims);
}

/* NaN where there is nothing else. */
static liana_tensor or_nan(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims, liana_tensor y)
{
    liana_tensor none = liana_op_all_at(here, liana_op_is_nan_at(here, x), axes, keep_dims);
    return liana_op_where_at(here, none, number(here, x, NAN), y);
}

static liana_tensor nan_max(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor y = liana_op_reduce_max_at(here, filled(here, x, -INFINITY), axes, keep_dims);
    return or_nan(here, x, axes, keep_dims, y);
}

static liana_tensor nan_min(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor y = liana_op_reduce_min_at(here, filled(here, x, INFINITY), axes, keep_dims);
    return or_nan(here, x, axes, keep_dims, y);
}

/* How many are numbers, as a float. */
static liana_tensor count_of(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor is_number = liana_op_logical_not_at(here, liana_op_is_nan_at(here, x));
    return liana_op_reduce_sum_at(here, liana_op_cast_at(here, is_number, liana_tensor_dtype(x)), axes, keep_dims);
}

static liana_tensor nan_mean(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_divide_at(here, nan_sum(here, x, axes, keep_dims), count_of(here, x, axes, keep_dims));
}

static liana_tensor nan_var(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor distance = liana_op_subtract_at(here, x, nan_mean(here, x, axes, true));
    liana_tensor squares = liana_op_square_at(here, filled(here, distance, 0));
    liana_tensor sum = liana_op_reduce_sum_at(here, squares, axes, keep_dims);
    return liana_op_divide_at(here, sum, count_of(here, x, axes, keep_dims));
}

static liana_tensor nan_std(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_sqrt_at(here, nan_var(here, x, axes, keep_dims));
}

static liana_tensor range_of(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor low = liana_op_reduce_min_at(here, x, axes, keep_dims);
    return liana_op_subtract_at(here, liana_op_reduce_max_at(here, x, axes, keep_dims), low);
}

#define ALONG(name, function)                                               \
    liana_tensor liana__operation_build_##name(liana__operation_call *call) \
    {                                                                       \
        return along(call, function);                                       \
    }
ALONG(nansum, nan_sum)
ALONG(nanprod, nan_prod)
ALONG(nanmax, nan_max)
ALONG(nanmin, nan_min)
ALONG(nanmean, nan_mean)
ALONG(nanvar, nan_var)
ALONG(nanstd, nan_std)
ALONG(ptp, range_of)

/* -1 where all are NaN. */
static liana_tensor nan_place(liana__operation_call *call, double worst,
                              liana_tensor (*find)(liana_location, liana_tensor, int64_t))
{
    int64_t axis;
    const liana_tensor x = call->operands[0];
    liana_location here = call->here;
    if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return nothing(call);
    liana_tensor none = liana_op_all_at(here, liana_op_is_nan_at(here, x), LIANA_AXES(axis), false);
    liana_tensor place = find(here, filled(here, x, worst), axis);
    place = liana_op_select_at(here, none, number(here, place, -1), place);
    return liana__operation_flag(call, "keepdims") ? liana_op_expand_dims_at(here, place, axis) : place;
}

liana_tensor liana__operation_build_nanargmax(liana__operation_call *call)
{
    return nan_place(call, -INFINITY, liana_op_argmax_at);
}

liana_tensor liana__operation_build_nanargmin(liana__operation_call *call)
{
    return nan_place(call, INFINITY, liana_op_argmin_at);
}

liana_tensor liana__operation_build_nancumsum(liana__operation_call *call)
{
    call->operands[0] = filled(call->here, call->operands[0], 0);
    return liana__operation_build_cumsum(call);
}

liana_tensor liana__operation_build_nancumprod(liana__operation_call *call)
{
    call->operands[0] = filled(call->here, call->operands[0], 1);
    return liana__operation_build_cumprod(call);
}

/* ---- means and quantiles ---- */

liana_tensor liana__operation_build_average(liana__operation_call *call)
{
    liana_axes axes;
    liana_location here = call->here;
    const liana_tensor x = call->operands[0], weights = call->count > 1 ? call->operands[1] : (liana_tensor){0};
    if (!liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    if (!weights.id) return liana_op_reduce_mean_at(here, x, axes, false);
    const liana_shape shape = liana_tensor_shape(x);
    liana_shape of_weights = liana_tensor_shape(weights);
    liana_tensor factors = weights;
    if (of_weights.rank == 1 && axes.count == 1 && of_weights.dims[0] == shape.dims[axes.values[0]]) {
        liana_shape line = {.rank = shape.rank};
        for (int i = 0; i < shape.rank; i++) line.dims[i] = i == axes.values[0] ? of_weights.dims[0] : 1;
        factors = liana_op_reshape_at(here, weights, line);
    } else if (!liana_shape_equal(&of_weights, &shape)) {
        return liana__operation_fail(call, "weights: expected one for each element of x, or of one axis");
    }
    liana_tensor sum = liana_op_reduce_sum_at(here, liana_op_multiply_at(here, x, factors), axes, false);
    return liana_op_divide_at(here, sum, liana_op_reduce_sum_at(here, factors, axes, false));
}

/* The axes as one, which is the last. */
static liana_tensor joined(liana_location here, liana_tensor x, liana_axes axes)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_axes order = {.count = 0};
    liana_shape flat = {.rank = 0};
    int64_t size = 1;
    for (int i = 0; i < shape.rank; i++) {
        bool is_joined = false;
        for (int64_t k = 0; k < axes.count; k++) is_joined = is_joined || axes.values[k] == i;
        if (is_joined) continue;
        order.values[order.count++] = i;
        flat.dims[flat.rank++] = shape.dims[i];
    }
    for (int64_t k = 0; k < axes.count; k++) {
        order.values[order.count++] = axes.values[k];
        size *= shape.dims[axes.values[k]];
    }
    flat.dims[flat.rank++] = size;
    return liana_op_reshape_at(here, liana_op_transpose_at(here, x, order), flat);
}

static liana_tensor element(liana_location here, liana_tensor sorted, int64_t index)
{
    return liana_op_gather_at(here, sorted, liana_graph_scalar_at(here, sorted.graph, LIANA_S32, (double)index), -1);
}

static bool is_method(const char *word)
{
    static const char *const methods[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    bool found = false;
    for (size_t i = 0; i < 5; i++) found = found || strcmp(methods[i], word) == 0;
    return found;
}

/* The element at a place between the sorted ones. */
static liana_tensor pick(liana_location here, liana_tensor sorted, double place, const char *method)
{
    const double low = floor(place), high = ceil(place);
    if (strcmp(method, "lower") == 0) place = low;
    if (strcmp(method, "higher") == 0) place = high;
    if (strcmp(method, "nearest") == 0) place = nearbyint(place);
    if (strcmp(method, "midpoint") == 0) place = (low + high) / 2;
    liana_tensor below = element(here, sorted, (int64_t)floor(place));
    const double part = place - floor(place);
    if (!(part > 0)) return below;
    liana_tensor above = element(here, sorted, (int64_t)ceil(place));
    return liana_op_add_at(here, liana_op_multiply_at(here, above, number(here, above, part)),
                           liana_op_multiply_at(here, below, number(here, below, 1 - part)));
}

static liana_tensor quantile_of(liana__operation_call *call, double share)
{
    liana_axes axes;
    liana_location here = call->here;
    const liana_tensor x = call->operands[0];
    const char *method = liana__operation_word(call, "method");
    if (!method) method = "linear";
    if (!liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    if (!(share >= 0 && share <= 1)) return liana__operation_fail(call, "q: expected a share from 0 to 1");
    liana_tensor lines = joined(here, x, axes);
    const liana_shape shape = liana_tensor_shape(lines);
    const double place = share * (double)(shape.dims[shape.rank - 1] - 1);
    if (!is_method(method)) {
        return liana__operation_fail(call, "method: found '%.40s', expected linear, lower, higher, nearest or midpoint",
                                     method);
    }
    liana_tensor picked = pick(here, liana_sort_at(here, lines, -1, false), place, method);
    liana_tensor has_nan = liana_op_any_at(here, liana_op_is_nan_at(here, x), axes, false);
    picked = liana_op_where_at(here, has_nan, number(here, x, NAN), picked);
    if (!liana__operation_flag(call, "keepdims")) return picked;
    liana_shape kept = liana_tensor_shape(x);
    for (int64_t k = 0; k < axes.count; k++) kept.dims[axes.values[k]] = 1;
    return liana_op_reshape_at(here, picked, kept);
}

liana_tensor liana__operation_build_median(liana__operation_call *call)
{
    return quantile_of(call, 0.5);
}

/* Keras rounds the share to float32, which decides whether a place is at an element or behind it. */
static liana_tensor share_of(liana__operation_call *call, float whole)
{
    double share;
    const liana__value *given = liana__value_get(call->arguments, "q");
    if (!given || (given->kind != LIANA__VALUE_INT && given->kind != LIANA__VALUE_FLOAT)) {
        return liana__operation_fail(call, "q: expected one number that is constant");
    }
    if (!liana__operation_number(call, "q", 0, &share)) return nothing(call);
    return quantile_of(call, (double)((float)share / whole));
}

/* In a graph Keras 3 takes the linear one whatever method is named. */
liana_tensor liana__operation_build_quantile(liana__operation_call *call)
{
    const char *method = liana__operation_word(call, "method");
    if (method && strcmp(method, "linear") != 0) {
        return liana__operation_fail(call,
                                     "method: found '%.40s', expected linear, which Keras's graphs take in any "
                                     "case; percentile takes other methods",
                                     method);
    }
    return share_of(call, 1);
}

liana_tensor liana__operation_build_percentile(liana__operation_call *call)
{
    return share_of(call, 100);
}

/* ---- neighbours ---- */

static liana_tensor part(liana_location here, liana_tensor x, int64_t axis, int64_t first, int64_t end)
{
    const liana_shape shape = liana_tensor_shape(x);
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = shape.dims[i];
    start[axis] = first;
    limit[axis] = end;
    return liana_op_slice_at(here, x, start, limit, NULL);
}

liana_tensor liana__operation_build_diff(liana__operation_call *call)
{
    double times;
    int64_t axis, last = -1;
    liana_tensor x = call->operands[0];
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return nothing(call);
    if (!liana__operation_number(call, "n", 1, &times)) return nothing(call);
    int64_t size = liana_tensor_shape(x).dims[axis];
    if (!(times >= 0 && times < (double)size)) {
        return liana__operation_fail(call, "n: found %g, expected 0 to %lld: axis %lld has %lld elements", times,
                                     (long long)size - 1, (long long)axis, (long long)size);
    }
    for (; times >= 1; times--, size--) {
        x = liana_op_subtract_at(call->here, part(call->here, x, axis, 1, size),
                                 part(call->here, x, axis, 0, size - 1));
    }
    return x;
}

/* The trapezoidal rule, with one distance between all. */
liana_tensor liana__operation_build_trapezoid(liana__operation_call *call)
{
    double step;
    int64_t axis, last = -1;
    liana_tensor y = call->operands[0];
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return nothing(call);
    if (!liana__operation_number(call, "dx", 1, &step)) return nothing(call);
    const int64_t size = liana_tensor_shape(y).dims[axis];
    if (size < 2) return liana__operation_fail(call, "axis %lld has one element, expected two", (long long)axis);
    liana_tensor pairs =
        liana_op_add_at(call->here, part(call->here, y, axis, 1, size), part(call->here, y, axis, 0, size - 1));
    liana_tensor sum = liana_op_reduce_sum_at(call->here, pairs, LIANA_AXES(axis), false);
    return liana_op_multiply_at(call->here, sum, number(call->here, sum, step / 2));
}

/* x / max(norm, epsilon). */
liana_tensor liana__operation_build_normalize(liana__operation_call *call)
{
    liana_axes axes = LIANA_AXES(liana_tensor_shape(call->operands[0]).rank - 1);
    double order, least;
    liana_location here = call->here;
    const liana_tensor x = call->operands[0];
    const bool has_axis = liana__value_get(call->arguments, "axis") != NULL;
    if (has_axis && !liana__operation_axes(call, "axis", 0, &axes)) return nothing(call);
    if (!liana__operation_number(call, "order", 2, &order)) return nothing(call);
    if (!liana__operation_number(call, "epsilon", 1e-7, &least)) return nothing(call);
    if (!has_axis && axes.values[0] < 1) return liana__operation_fail(call, "found no axis behind the batch");
    if (order == 2) {
        liana_tensor squares = liana_op_reduce_sum_at(here, liana_op_square_at(here, x), axes, true);
        liana_tensor inverse = liana_op_rsqrt_at(here, squares);
        return liana_op_multiply_at(here, x, liana_op_minimum_at(here, inverse, number(here, x, 1 / least)));
    }
    liana_tensor norm = liana_op_norm_at(here, x, order, axes, true);
    return liana_op_divide_at(here, x, liana_op_maximum_at(here, norm, number(here, x, least)));
}
