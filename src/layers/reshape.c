/* Flatten and Reshape. */
#include "layers/option_rows.h"

static const liana__fields flatten_options = {"Flatten", sizeof(liana_flatten_options), 0, NULL};

static liana_tensor call_flatten(liana__layer_call *call)
{
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    return liana_op_reshape_at(call->here, call->inputs[0], liana_shape_of(shape.dims[0], -1));
}

const liana__layer_type liana__layer_flatten = {
    .name = "Flatten",
    .doc = "flattens each example to one row",
    .options = &flatten_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .takes_integers = true,
    .has_data_format = true,
    .sums = LIANA__SUMS_KEPT_IN_A_ROW,
    .call = call_flatten,
};

static const liana__field reshape_rows[] = {
    LIANA__FIELD_ROW(liana_reshape_options, target_shape, INTS, .required = true, .minimum = -1, .maximum = INT32_MAX,
                     .doc = "new shape of one example; one number may be -1"),
};
static const liana__fields reshape_options = LIANA__FIELD_TABLE("Reshape", liana_reshape_options, reshape_rows);

static liana_status check_reshape(liana__layer_check *check)
{
    const liana_reshape_options *chosen = check->options;
    if (chosen->target_shape.count < LIANA_MAX_RANK) return LIANA_OK;
    return liana__option_fail(check, "target_shape", "found %lld dimensions, expected at most %d",
                              (long long)chosen->target_shape.count, LIANA_MAX_RANK - 1);
}

static liana_tensor call_reshape(liana__layer_call *call)
{
    const liana_reshape_options *chosen = call->options;
    liana_shape shape = {.rank = (int)chosen->target_shape.count + 1};
    shape.dims[0] = liana_tensor_shape(call->inputs[0]).dims[0];
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = chosen->target_shape.values[i - 1];
    return liana_op_reshape_at(call->here, call->inputs[0], shape);
}

const liana__layer_type liana__layer_reshape = {
    .name = "Reshape",
    .doc = "the same elements in another shape",
    .options = &reshape_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .takes_integers = true,
    .sums = LIANA__SUMS_KEPT_IN_A_ROW,
    .check = check_reshape,
    .call = call_reshape,
};
