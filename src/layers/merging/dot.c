/* Dot: the product of two inputs, summed over an axis of each. */
#include "layers/option_rows.h"

#include <liana/layers/merging.h>

#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_dot_options, axes, INT_PAIR, .required = true, .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK,
                     .doc = "the axis of each input that is summed over; one number stands for both; not 0, the batch"),
    LIANA_OPTION_ROW(liana_dot_options, normalize, BOOL, .default_text = "false",
                     .doc = "whether each input is first divided by its norm along the axis"),
};

static int64_t axis_of(const liana_dot_options *chosen, size_t input, int rank)
{
    const int64_t axis = chosen->axes[input];
    return axis < 0 ? axis + rank : axis;
}

static liana_status check_inputs(liana_layer_build *build)
{
    const liana_dot_options *chosen = build->options;
    int64_t sizes[2];
    char expected[96];
    for (size_t i = 0; i < 2; i++) {
        const liana_shape *shape = &build->inputs[i];
        const int64_t axis = axis_of(chosen, i, shape->rank);
        if (axis < 1 || axis >= shape->rank) {
            snprintf(expected, sizeof expected, "one with axis %lld of axes, which may not be that of the batch",
                     (long long)chosen->axes[i]);
            return liana_layer_refuse(build, i, expected);
        }
        sizes[i] = shape->dims[axis];
    }
    if (build->inputs[0].rank + build->inputs[1].rank - 3 > LIANA_MAX_RANK) {
        return liana_layer_refuse(build, 1, "one with fewer axes: the result would have too many");
    }
    if (sizes[0] == sizes[1]) return LIANA_OK;
    snprintf(expected, sizeof expected, "the size %lld along axis %lld, as the first input has", (long long)sizes[0],
             (long long)axis_of(chosen, 1, build->inputs[1].rank));
    return liana_layer_refuse(build, 1, expected);
}

/* x / sqrt(sum of squares), with Keras's limit for vectors of almost no length. */
static liana_tensor normalized(const liana_layer_call *call, liana_tensor x, int64_t axis)
{
    const double epsilon = 1e-7;
    liana_tensor sum = liana_op_reduce_sum_at(call->here, liana_op_square_at(call->here, x), LIANA_AXES(axis), true);
    liana_tensor least = liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), epsilon * epsilon);
    liana_tensor inverse = liana_op_rsqrt_at(call->here, liana_op_maximum_at(call->here, sum, least));
    return liana_op_multiply_at(call->here, x, inverse);
}

/* The axis becomes the last (`last`) or the second; then x is [batch, rest, size] or [batch, size, rest]. */
static liana_tensor as_matrices(const liana_layer_call *call, liana_tensor x, int64_t axis, bool last)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana_axes order = {.count = 1};
    if (!last) order.values[order.count++] = axis;
    for (int i = 1; i < shape.rank; i++) {
        if (i != axis) order.values[order.count++] = i;
    }
    if (last) order.values[order.count++] = axis;
    const int64_t size = shape.dims[axis];
    int64_t rest = 1;
    for (int i = 1; i < shape.rank; i++) rest *= i == axis ? 1 : shape.dims[i];
    x = liana_op_transpose_at(call->here, x, order);
    const liana_shape flat =
        last ? liana_shape_of(shape.dims[0], rest, size) : liana_shape_of(shape.dims[0], size, rest);
    return liana_op_reshape_at(call->here, x, flat);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_dot_options *chosen = call->options;
    liana_tensor x[2];
    int64_t axes[2];
    liana_shape result = {.rank = 1, .dims = {liana_tensor_shape(call->inputs[0]).dims[0]}};
    for (size_t i = 0; i < 2; i++) {
        const liana_shape shape = liana_tensor_shape(call->inputs[i]);
        axes[i] = axis_of(chosen, i, shape.rank);
        x[i] = chosen->normalize ? normalized(call, call->inputs[i], axes[i]) : call->inputs[i];
        for (int k = 1; k < shape.rank; k++) {
            if (k != axes[i]) result.dims[result.rank++] = shape.dims[k];
        }
        x[i] = as_matrices(call, x[i], axes[i], i == 0);
    }
    if (result.rank == 1) result.dims[result.rank++] = 1;
    return liana_op_reshape_at(call->here, liana_op_matmul_at(call->here, x[0], x[1], false, false), result);
}

const liana_layer_type liana__layer_dot = {
    LIANA_PART(LAYER, liana_layer_type, "Dot", "the product of two inputs, summed over an axis of each",
               LIANA_PART_OPTIONS(liana_dot_options, rows)),
    LIANA__INPUTS(2, 2),
    .weights = check_inputs,
    .call = call_layer,
};
