/* PReLU: a slope below 0 that is trained (He et al. 2015). */
#include "layers/option_rows.h"

#include <liana/layers/activation.h>
#include <liana/ops.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA__INITIALIZER_ROW(liana_prelu_options, alpha_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_prelu_options, alpha_regularizer),
    LIANA__CONSTRAINT_ROW(liana_prelu_options, alpha_constraint),
    LIANA_OPTION_ROW(liana_prelu_options, shared_axes, INTS, .minimum = 1, .maximum = LIANA_MAX_RANK,
                     .doc = "axes along which all elements have one slope, such as [1, 2] of images; axis 0 is the "
                            "batch"),
};

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_prelu_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    liana_shape shape = {.rank = x->rank - 1};
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ...]");
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->dims[i + 1];
    for (int64_t i = 0; i < chosen->shared_axes.count; i++) {
        const int64_t axis = chosen->shared_axes.values[i];
        if (axis >= x->rank) {
            char expected[60];
            snprintf(expected, sizeof expected, "one with the shared axis %lld", (long long)axis);
            return liana_layer_refuse(build, 0, expected);
        }
        shape.dims[axis - 1] = 1;
    }
    liana_layer_add_weight(build, "alpha", shape, chosen->alpha_initializer, true);
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    liana_tensor zero = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), 0);
    liana_tensor below = liana_op_multiply_at(here, x, call->weights[0]);
    return liana_op_select_at(here, liana_op_greater_at(here, x, zero), x, below);
}

const liana_layer_type liana__layer_prelu = {
    LIANA_PART(LAYER, liana_layer_type, "PReLU", "x above 0, else alpha x with a trained alpha for each element",
               LIANA_PART_OPTIONS(liana_prelu_options, rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
};
