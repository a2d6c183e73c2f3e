/* LayerScale: a trained factor for each channel, at the end of a residual branch (Touvron et al. 2021). */
#include "layers/option_rows.h"

#include <liana/layers/normalization.h>
#include <liana/ops.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_layer_scale_options, init_values, FLOAT, .required = true,
                     .doc = "first value of gamma, such as 1e-6"),
    LIANA__COUNT_ROW(liana_layer_scale_options, projection_dim, .required = true, .doc = "number of channels"),
};

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_layer_scale_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    char text[60];
    if (x->rank < 2 || x->dims[x->rank - 1] != chosen->projection_dim) {
        snprintf(text, sizeof text, "one whose last axis has projection_dim: %lld channels",
                 (long long)chosen->projection_dim);
        return liana_layer_refuse(build, 0, text);
    }
    snprintf(text, sizeof text, "constant(%.17g)", chosen->init_values);
    liana_layer_add_weight(build, "gamma", liana_shape_of(chosen->projection_dim), text, true);
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    return liana_op_multiply_at(call->here, call->inputs[0], call->weights[0]);
}

/* As in Keras it drops a mask. */
const liana_layer_type liana__layer_layer_scale = {
    LIANA_PART(LAYER, liana_layer_type, "LayerScale", "gamma x with a trained gamma for each channel",
               LIANA_PART_OPTIONS(liana_layer_scale_options, rows)),
    LIANA__INPUTS(1, 1),
    .weights = declare_weights,
    .call = call_layer,
};
