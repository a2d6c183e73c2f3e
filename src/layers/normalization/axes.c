/* The axes of layers that normalise each example. */
#include "layers/normalization/axes.h"

#include "ir/graph.h"

#include <stdio.h>

liana_ints liana__given_axes(const int64_t axis[LIANA_MAX_AXES])
{
    liana_ints axes = {0};
    while (axes.count < LIANA_MAX_AXES && axis[axes.count]) {
        axes.values[axes.count] = axis[axes.count];
        axes.count++;
    }
    return axes;
}

liana_status liana__check_axes(liana_check *check, const int64_t axis[LIANA_MAX_AXES], bool may_be_none)
{
    const liana_ints axes = liana__given_axes(axis);
    if (axes.count == 0 && !may_be_none)
        return liana_option_refuse(check, "axis", "found none, expected at least one axis");
    for (int64_t i = 0; i < axes.count; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (axis[k] != axis[i]) continue;
            return liana_option_refuse(check, "axis", "found axis %lld twice", (long long)axis[i]);
        }
    }
    return LIANA_OK;
}

liana_status liana__build_axes(liana_layer_build *build, const int64_t *axis, int64_t count)
{
    const int64_t rank = build->inputs[0].rank;
    char expected[80];
    for (int64_t i = 0; i < count; i++) {
        const int64_t own = liana__axis_of(axis[i], rank);
        if (own < 1 || own >= rank) {
            snprintf(expected, sizeof expected, "one with an axis %lld that is not the batch", (long long)axis[i]);
            return liana_layer_refuse(build, 0, expected);
        }
        for (int64_t k = 0; k < i; k++) {
            if (liana__axis_of(axis[k], rank) != own) continue;
            snprintf(expected, sizeof expected, "one where %lld and %lld are two axes", (long long)axis[k],
                     (long long)axis[i]);
            return liana_layer_refuse(build, 0, expected);
        }
    }
    return LIANA_OK;
}

static void sort(int64_t *values, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        for (int64_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
            const int64_t greater = values[k - 1];
            values[k - 1] = values[k];
            values[k] = greater;
        }
    }
}

liana_axes liana__axes_of(const liana_ints *axis, int rank)
{
    liana_axes axes = {.count = axis->count};
    for (int64_t i = 0; i < axis->count; i++) axes.values[i] = liana__axis_of(axis->values[i], rank);
    sort(axes.values, axes.count);
    return axes;
}

bool liana__axes_are_last(const liana_axes *axes, int rank)
{
    for (int64_t i = 0; i < axes->count; i++) {
        if (axes->values[i] != rank - axes->count + i) return false;
    }
    return true;
}

liana_shape liana__shape_along(const liana_ints *axis, const liana_shape *x)
{
    liana_ints sorted = *axis;
    sort(sorted.values, sorted.count);
    liana_shape shape = {.rank = (int)sorted.count};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->dims[liana__axis_of(sorted.values[i], x->rank)];
    return shape;
}

liana_tensor liana__along_axes(liana_location here, liana_tensor weight, liana_tensor x, const liana_axes *axes)
{
    const liana_shape all = liana_tensor_shape(x);
    liana_shape shape = {.rank = all.rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1;
    for (int64_t i = 0; i < axes->count; i++) shape.dims[axes->values[i]] = all.dims[axes->values[i]];
    return liana_op_reshape_at(here, weight, shape);
}

liana_tensor liana__normalise_over(liana_location here, liana_tensor x, const liana_axes *axes, double epsilon,
                                   bool about_zero)
{
    if (!about_zero) {
        x = liana_op_subtract_at(here, x, liana_op_reduce_mean_at(here, x, *axes, true));
        liana__keep_wide(x);
    }
    liana_tensor square = liana_op_square_at(here, x);
    liana__keep_wide(square);
    liana_tensor variance = liana_op_reduce_mean_at(here, square, *axes, true);
    liana_tensor small = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), epsilon);
    liana_tensor y = liana_op_multiply_at(here, x, liana_op_rsqrt_at(here, liana_op_add_at(here, variance, small)));
    liana__keep_wide(y);
    return y;
}

liana_tensor liana__constant_along(liana_location here, liana_tensor x, int64_t size, double value)
{
    liana_tensor scalar = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), value);
    return liana_op_broadcast_to_at(here, scalar, liana_shape_of(size));
}
