/* Normalization: subtracts a given mean and divides by a given deviation. */
#include "layers/option_rows.h"

#include <liana/layers/preprocessing.h>

/* `count`, the number of examples that Keras found mean and variance from, is in its files but not in the formula. */
static liana_status declare_weights(liana_layer_build *build)
{
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., channels]");
    liana_shape shape = liana_shape_of(x->dims[x->rank - 1]);
    liana_layer_add_weight(build, "mean", shape, "zeros", false);
    liana_layer_add_weight(build, "variance", shape, "ones", false);
    liana_layer_add_weight(build, "count", LIANA_SCALAR, "zeros", false);
    return build->status;
}

/* The least deviation is Keras's backend.epsilon(). */
static liana_tensor call_layer(liana_layer_call *call)
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

const liana_layer_type liana__layer_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "Normalization",
               "(x - mean) / deviation for each channel, with those of data (liana_layer_adapt) or of a weight file",
               .options = {.size = sizeof(liana_normalization_options)}),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};
