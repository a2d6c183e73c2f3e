/* Dense: a product with a matrix of weights, and a bias. */
#include "layers/convolution.h"

static const liana__field rows[] = {
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
static const liana__fields options = LIANA__FIELD_TABLE("Dense", liana_dense_options, rows);

static liana_status check_options(liana__layer_check *check)
{
    const liana_dense_options *chosen = check->options;
    LIANA_TRY(liana__check_activation(check, "activation", chosen->activation));
    LIANA_TRY(liana__check_initializer(check, "kernel_initializer", chosen->kernel_initializer));
    return liana__check_initializer(check, "bias_initializer", chosen->bias_initializer);
}

static liana_status declare_weights(liana__layer_build *build)
{
    const liana_dense_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana__build_fail(build, 0, "[batch, ..., features]");
    liana__add_weight(build, "kernel", liana_shape_of(x->dims[x->rank - 1], chosen->units), chosen->kernel_initializer,
                      true);
    if (chosen->use_bias) {
        liana__add_weight(build, "bias", liana_shape_of(chosen->units), chosen->bias_initializer, true);
    }
    return build->status;
}

/* matmul wants equal leading axes, so all axes but the last are laid into one. */
static liana_tensor call_layer(liana__layer_call *call)
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

const liana__layer_type liana__layer_dense = {
    .name = "Dense",
    .doc = "activation(x kernel + bias) over the last axis",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .masking = LIANA__MASK_KEPT,
    .check = check_options,
    .weights = declare_weights,
    .call = call_layer,
};
