/* ReLU, LeakyReLU and ELU. */
#include "layers/activation_functions.h"
#include "layers/option_rows.h"

#include <liana/layers/activation.h>

/* ---- ReLU ---- */

static const liana_option relu_rows[] = {
    LIANA_OPTION_ROW(liana_relu_options, max_value, FLOAT, .default_text = "null", .minimum = 0, .maximum = INFINITY,
                     .doc = "largest result, above 0; default: no limit"),
    LIANA_OPTION_ROW(liana_relu_options, negative_slope, FLOAT, .minimum = 0, .maximum = INFINITY,
                     .doc = "slope below the threshold"),
    LIANA_OPTION_ROW(liana_relu_options, threshold, FLOAT, .minimum = 0, .maximum = INFINITY,
                     .doc = "inputs below it become 0, or follow negative_slope"),
};

/* 0 once meant "no limit"; in Keras it makes every result 0. Nobody wants either. */
static liana_status check_relu(liana_check *check)
{
    const liana_relu_options *chosen = check->options;
    if (isnan(chosen->max_value) || chosen->max_value > 0) return LIANA_OK;
    return liana_option_refuse(check, "max_value", "found 0, expected a number above 0; leave it out for no limit");
}

static liana_tensor call_relu(liana_layer_call *call)
{
    const liana_relu_options *chosen = call->options;
    return liana__relu_of(call->here, call->inputs[0], chosen->negative_slope, chosen->max_value, chosen->threshold);
}

const liana_layer_type liana__layer_relu = {
    LIANA_PART(LAYER, liana_layer_type, "ReLU", "max(x, 0), with optional largest value, slope below and threshold",
               LIANA_PART_OPTIONS(liana_relu_options, relu_rows), .check = check_relu),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .call = call_relu,
};

/* ---- LeakyReLU ---- */

static const liana_option leaky_relu_rows[] = {
    LIANA_OPTION_ROW(liana_leaky_relu_options, negative_slope, FLOAT, .default_text = "0.3", .minimum = 0,
                     .maximum = INFINITY, .doc = "slope below 0"),
};

static liana_tensor call_leaky_relu(liana_layer_call *call)
{
    const liana_leaky_relu_options *chosen = call->options;
    return liana__relu_of(call->here, call->inputs[0], chosen->negative_slope, NAN, 0);
}

const liana_layer_type liana__layer_leaky_relu = {
    LIANA_PART(LAYER, liana_layer_type, "LeakyReLU", "x above 0, else negative_slope x",
               LIANA_PART_OPTIONS(liana_leaky_relu_options, leaky_relu_rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .call = call_leaky_relu,
};

/* ---- ELU ---- */

static const liana_option elu_rows[] = {
    LIANA_OPTION_ROW(liana_elu_options, alpha, FLOAT, .default_text = "1.0", .doc = "minus the limit far below 0"),
};

static liana_tensor call_elu(liana_layer_call *call)
{
    const liana_elu_options *chosen = call->options;
    return liana__elu_of(call->here, call->inputs[0], chosen->alpha, 1);
}

const liana_layer_type liana__layer_elu = {
    LIANA_PART(LAYER, liana_layer_type, "ELU", "x above 0, else alpha (e^x - 1)",
               LIANA_PART_OPTIONS(liana_elu_options, elu_rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .call = call_elu,
};
