/* Flatten and Reshape. */
#include "layers/option_rows.h"

#include <liana/layers/reshaping.h>

static const char *const data_formats[] = {"channels_last", "channels_first", NULL};
static const liana_option flatten_rows[] = {
    LIANA_OPTION_ROW(liana_flatten_options, data_format, ENUM, .default_text = "channels_last", .names = data_formats,
                     .doc = "channels_first: the first axis of an example is moved to its end before"),
};

static liana_tensor call_flatten(liana_layer_call *call)
{
    const liana_flatten_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    if (chosen->data_format == LIANA_CHANNELS_FIRST && shape.rank > 2) {
        liana_axes order = {.count = shape.rank};
        for (int i = 1; i < shape.rank; i++) order.values[i] = i + 1 < shape.rank ? i + 1 : 1;
        x = liana_op_transpose_at(call->here, x, order);
    }
    return liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0], -1));
}

const liana_layer_type liana__layer_flatten = {
    LIANA_PART(LAYER, liana_layer_type, "Flatten", "flattens each example to one row",
               LIANA_PART_OPTIONS(liana_flatten_options, flatten_rows)),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .sums = LIANA_SUMS_KEPT_IN_A_ROW,
    .call = call_flatten,
};

static const liana_option reshape_rows[] = {
    LIANA_OPTION_ROW(liana_reshape_options, target_shape, INTS, .required = true, .minimum = -1, .maximum = INT32_MAX,
                     .doc = "new shape of one example; one number may be -1"),
};

static liana_status check_reshape(liana_check *check)
{
    const liana_reshape_options *chosen = check->options;
    if (chosen->target_shape.count < LIANA_MAX_RANK) return LIANA_OK;
    return liana_option_refuse(check, "target_shape", "found %lld dimensions, expected at most %d",
                               (long long)chosen->target_shape.count, LIANA_MAX_RANK - 1);
}

static liana_tensor call_reshape(liana_layer_call *call)
{
    const liana_reshape_options *chosen = call->options;
    liana_shape shape = {.rank = (int)chosen->target_shape.count + 1};
    shape.dims[0] = liana_tensor_shape(call->inputs[0]).dims[0];
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = chosen->target_shape.values[i - 1];
    return liana_op_reshape_at(call->here, call->inputs[0], shape);
}

const liana_layer_type liana__layer_reshape = {
    LIANA_PART(LAYER, liana_layer_type, "Reshape", "the same elements in another shape",
               LIANA_PART_OPTIONS(liana_reshape_options, reshape_rows), .check = check_reshape),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .sums = LIANA_SUMS_KEPT_IN_A_ROW,
    .call = call_reshape,
};
