#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__ROW(liana_relu_options, max_value, FLOAT, .minimum = 0, .maximum = INFINITY,
               .doc = "greatest result; 0: no limit"),
    LIANA__ROW(liana_relu_options, negative_slope, FLOAT, .minimum = 0, .maximum = INFINITY,
               .doc = "slope below the threshold"),
    LIANA__ROW(liana_relu_options, threshold, FLOAT, .minimum = 0, .maximum = INFINITY,
               .doc = "inputs below it are cut off"),
};
static const liana__fields options = LIANA__OPTION_TABLE("ReLU", liana_relu_options, rows);

static liana_tensor scalar(liana__layer_call *call, double value)
{
    liana_tensor x = call->inputs[0];
    return liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), value);
}

/* min(x, max_value) above the threshold, else negative_slope * (x - threshold): Keras's documentation has "from the
 * threshold on", its code and its gradient at 0 have "above". */
static liana_tensor call_layer(liana__layer_call *call)
{
    const liana_relu_options *chosen = call->options;
    liana_location here = call->here;
    liana_tensor x = call->inputs[0];
    bool plain = chosen->negative_slope == 0 && chosen->threshold == 0;
    if (plain && chosen->max_value == 6) return liana_op_relu6_at(here, x);
    if (plain && chosen->max_value == 0) return liana_op_relu_at(here, x);
    liana_tensor above = x;
    if (chosen->max_value > 0) above = liana_op_minimum_at(here, x, scalar(call, chosen->max_value));
    liana_tensor below = liana_op_multiply_at(here, liana_op_subtract_at(here, x, scalar(call, chosen->threshold)),
                                              scalar(call, chosen->negative_slope));
    return liana_op_select_at(here, liana_op_greater_at(here, x, scalar(call, chosen->threshold)), above, below);
}

/* Keras's "no limit" is null. */
static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_relu_options *relu = chosen;
    if (relu->max_value == 0) liana__value_set(arena, config, "max_value", liana__value_null(arena));
}

const liana__layer_type liana__layer_relu = {
    .name = "ReLU",
    .doc = "max(x, 0), with a greatest value, a slope below and a threshold",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .call = call_layer,
    .to_keras = to_keras,
};
