/* Activation and Softmax: functions without weights. */
#include "layers/activations.h"
#include "layers/option_rows.h"

#include <liana/layers/activation.h>

static const liana_option activation_rows[] = {
    LIANA_OPTION_ROW(liana_activation_options, activation, STRING, .required = true, .doc = "the function's name"),
};

static liana_tensor call_activation(liana_layer_call *call)
{
    const liana_activation_options *chosen = call->options;
    return liana__activate(call, chosen->activation, call->inputs[0]);
}

const liana_layer_type liana__layer_activation = {
    LIANA_PART(LAYER, liana_layer_type, "Activation", "an activation by name",
               LIANA_PART_OPTIONS(liana_activation_options, activation_rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .sums = LIANA_SUMS_KEPT_BY_DOING_NOTHING,
    .call = call_activation,
};

static const liana_option softmax_rows[] = {
    LIANA_OPTION_ROW(liana_softmax_options, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK,
                     .doc = "the axis along which the results sum to 1; negative axes count from the end"),
};

static liana_status check_softmax_shape(liana_layer_build *build)
{
    const liana_softmax_options *chosen = build->options;
    int64_t rank = build->inputs[0].rank, axis = chosen->axis < 0 ? chosen->axis + rank : chosen->axis;
    return axis >= 1 && axis < rank ? LIANA_OK : liana_layer_refuse(build, 0, "one that has the softmax's axis");
}

/* The op works on the last axis; another one is swapped with it before and after. */
static liana_tensor call_softmax(liana_layer_call *call)
{
    const liana_softmax_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    int64_t rank = liana_tensor_shape(x).rank, axis = chosen->axis < 0 ? chosen->axis + rank : chosen->axis;
    if (axis == rank - 1) return liana__activate(call, "softmax", x);
    liana_axes swap = {.count = rank};
    for (int64_t i = 0; i < rank; i++) swap.values[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    x = liana_op_transpose_at(call->here, x, swap);
    return liana_op_transpose_at(call->here, liana_op_softmax_at(call->here, x), swap);
}

const liana_layer_type liana__layer_softmax = {
    LIANA_PART(LAYER, liana_layer_type, "Softmax", "softmax over an axis",
               LIANA_PART_OPTIONS(liana_softmax_options, softmax_rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = check_softmax_shape,
    .call = call_softmax,
};
