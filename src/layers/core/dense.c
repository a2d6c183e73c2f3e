/* Dense: a product with a matrix of weights, and a bias. */
#include "layers/convolution/convolution.h"

#include <liana/layers/core.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_dense_options, units, .required = true, .doc = "size of the result's last axis"),
    LIANA__ACTIVATION_ROW(liana_dense_options),
    LIANA__BIAS_ROW(liana_dense_options),
    LIANA__INITIALIZER_ROW(liana_dense_options, kernel_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_dense_options, bias_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_dense_options, kernel_regularizer),
    LIANA__REGULARIZER_ROW(liana_dense_options, bias_regularizer),
    LIANA__REGULARIZER_ROW(liana_dense_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_dense_options, kernel_constraint),
    LIANA__CONSTRAINT_ROW(liana_dense_options, bias_constraint),
};

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_dense_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., features]");
    liana_layer_add_weight(build, "kernel", liana_shape_of(x->dims[x->rank - 1], chosen->units),
                           chosen->kernel_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->units), chosen->bias_initializer, true);
    }
    return build->status;
}

/* matmul wants equal leading axes, so all axes but the last are laid into one. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_dense_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    liana_shape shape = liana_tensor_shape(x);
    if (shape.rank > 2) x = liana_op_reshape_at(call->here, x, liana_shape_of(-1, shape.dims[shape.rank - 1]));
    x = liana_op_matmul_at(call->here, x, call->weights[0], false, false);
    if (shape.rank > 2) {
        shape.dims[shape.rank - 1] = chosen->units;
        x = liana_op_reshape_at(call->here, x, shape);
    }
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[1] : NULL, chosen->activation);
}

const liana_layer_type liana__layer_dense = {
    LIANA_PART(LAYER, liana_layer_type, "Dense", "activation(x kernel + bias) over the last axis",
               LIANA_PART_OPTIONS(liana_dense_options, rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
};
