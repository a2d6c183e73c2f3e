/* Normalization: subtracts a given mean and divides by a given deviation. */
#include "layers/option_rows.h"

static const liana__fields options = {"Normalization", sizeof(liana_normalization_options), 0, NULL};

/* `count`, the number of examples that Keras found mean and variance from, is in its files but not in the formula. */
static liana_status declare_weights(liana__layer_build *build)
{
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana__build_fail(build, 0, "[batch, ..., channels]");
    liana_shape shape = liana_shape_of(x->dims[x->rank - 1]);
    liana__add_weight(build, "mean", shape, "zeros", false);
    liana__add_weight(build, "variance", shape, "ones", false);
    liana__add_weight(build, "count", LIANA_SCALAR, "zeros", false);
    return build->status;
}

/* The least deviation is Keras's backend.epsilon(). */
static liana_tensor call_layer(liana__layer_call *call)
{
    liana_tensor x = call->inputs[0], mean = call->weights[0], variance = call->weights[1];
    liana_tensor least = liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), 1e-7);
    liana_tensor deviation = liana_op_maximum_at(call->here, liana_op_sqrt_at(call->here, variance), least);
    return liana_op_divide_at(call->here, liana_op_subtract_at(call->here, x, mean), deviation);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    (void)chosen;
    liana__value *axis = liana__value_list(arena);
    if (!axis) return;
    liana__value_add(arena, axis, liana__value_int(arena, -1));
    liana__value_set(arena, config, "axis", axis);
}

const liana__layer_type liana__layer_normalization = {
    .name = "Normalization",
    .doc = "(x - mean) / deviation for each channel, with those of data (liana_layer_adapt) or of a weight file",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .masking = LIANA__MASK_KEPT,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};
