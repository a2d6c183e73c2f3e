/* ReLU: with a maximum, a slope and a threshold. */
#include "layers/option_rows.h"

#include <liana/layers/activation.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_relu_options, max_value, FLOAT, .default_text = "null", .minimum = 0, .maximum = INFINITY,
                     .doc = "largest result, above 0; default: no limit"),
    LIANA_OPTION_ROW(liana_relu_options, negative_slope, FLOAT, .minimum = 0, .maximum = INFINITY,
                     .doc = "slope below the threshold"),
    LIANA_OPTION_ROW(liana_relu_options, threshold, FLOAT, .minimum = 0, .maximum = INFINITY,
                     .doc = "inputs below it become 0, or follow negative_slope"),
};

/* 0 once meant "no limit"; in Keras it makes every result 0. Nobody wants either. */
static liana_status check_options(liana_check *check)
{
    const liana_relu_options *chosen = check->options;
    if (isnan(chosen->max_value) || chosen->max_value > 0) return LIANA_OK;
    return liana_option_refuse(check, "max_value", "found 0, expected a number above 0; leave it out for no limit");
}

static liana_tensor scalar(liana_layer_call *call, double value)
{
    liana_tensor x = call->inputs[0];
    return liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), value);
}

/* min(x, max_value) above the threshold, else negative_slope * (x - threshold): Keras's documentation has "from the
 * threshold on", its code and its gradient at 0 have "above". */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_relu_options *chosen = call->options;
    liana_location here = call->here;
    liana_tensor x = call->inputs[0];
    bool plain = chosen->negative_slope == 0 && chosen->threshold == 0;
    if (plain && chosen->max_value == 6) return liana_op_relu6_at(here, x);
    if (plain && isnan(chosen->max_value)) return liana_op_relu_at(here, x);
    liana_tensor above = x;
    if (!isnan(chosen->max_value)) above = liana_op_minimum_at(here, x, scalar(call, chosen->max_value));
    liana_tensor below = liana_op_multiply_at(here, liana_op_subtract_at(here, x, scalar(call, chosen->threshold)),
                                              scalar(call, chosen->negative_slope));
    return liana_op_select_at(here, liana_op_greater_at(here, x, scalar(call, chosen->threshold)), above, below);
}

const liana_layer_type liana__layer_relu = {
    LIANA_PART(LAYER, liana_layer_type, "ReLU", "max(x, 0), with optional largest value, slope below and threshold",
               LIANA_PART_OPTIONS(liana_relu_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .call = call_layer,
};
