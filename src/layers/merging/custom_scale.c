/* CustomScaleLayer of keras.applications: its first input and `scale` times its second. */
#include "layers/option_rows.h"

#include <liana/layers/merging.h>

#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_custom_scale_options, scale, FLOAT, .required = true,
                     .doc = "the number by which the second input is multiplied"),
};

/* Shapes are broadcast as in numpy. */
static liana_status check_inputs(liana_layer_build *build)
{
    const liana_shape first = build->inputs[0], second = build->inputs[1];
    char expected[80];
    if (first.rank != second.rank) {
        snprintf(expected, sizeof expected, "one with %d axes, as the first input has", first.rank);
        return liana_layer_refuse(build, 1, expected);
    }
    for (int i = 1; i < first.rank; i++) {
        if (first.dims[i] == second.dims[i] || first.dims[i] == 1 || second.dims[i] == 1) continue;
        snprintf(expected, sizeof expected, "the size %lld or 1 along axis %d, as the first input has",
                 (long long)first.dims[i], i);
        return liana_layer_refuse(build, 1, expected);
    }
    return LIANA_OK;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_custom_scale_options *chosen = call->options;
    const liana_tensor x = call->inputs[0], y = call->inputs[1];
    const liana_tensor scale = liana_graph_scalar_at(call->here, y.graph, liana_tensor_dtype(y), chosen->scale);
    return liana_op_add_at(call->here, x, liana_op_multiply_at(call->here, y, scale));
}

const liana_layer_type liana__layer_custom_scale_layer = {
    LIANA_PART(LAYER, liana_layer_type, "CustomScaleLayer",
               "its first input and a number of times its second, as in InceptionResNetV2",
               LIANA_PART_OPTIONS(liana_custom_scale_options, rows)),
    LIANA__INPUTS(2, 2),
    .weights = check_inputs,
    .call = call_layer,
};
