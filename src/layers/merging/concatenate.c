/* Concatenate: joins inputs along an axis. */
#include "layers/option_rows.h"

#include <liana/layers/merging.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_concatenate_options, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK,
                     .doc = "the axis along which the inputs are joined; negative axes count from the end"),
};

static liana_status check_shape(liana_layer_build *build)
{
    const liana_concatenate_options *chosen = build->options;
    int64_t rank = build->inputs[0].rank, axis = chosen->axis < 0 ? chosen->axis + rank : chosen->axis;
    return axis >= 1 && axis < rank ? LIANA_OK : liana_layer_refuse(build, 0, "one that has the concatenation's axis");
}

/* The mask of an input whose steps all count. */
static liana_tensor full_mask(const liana_layer_call *call, size_t input)
{
    liana_shape shape = liana_tensor_shape(call->inputs[input]);
    shape.rank--;
    liana_tensor yes = liana_graph_scalar_at(call->here, call->inputs[input].graph, LIANA_BOOL, 1);
    return liana_op_broadcast_to_at(call->here, yes, shape);
}

/* As in Keras: masks follow one after the other as the inputs do; along the last axis, which masks do not have, a step
 * counts if it counts in any input. An input without a mask counts whole. */
static void join_masks(liana_layer_call *call, int64_t axis)
{
    liana_tensor masks[LIANA_MAX_LAYER_INPUTS];
    int rank = liana_tensor_shape(call->inputs[0]).rank;
    bool has_mask = false;
    for (size_t i = 0; i < call->num_inputs; i++) {
        has_mask = has_mask || call->masks[i].id;
        if (call->masks[i].id && liana_tensor_shape(call->masks[i]).rank != rank - 1) return;
    }
    if (!has_mask) return;
    for (size_t i = 0; i < call->num_inputs; i++) masks[i] = call->masks[i].id ? call->masks[i] : full_mask(call, i);
    call->mask = masks[0];
    if (axis < rank - 1) {
        call->mask = liana_op_concat_at(call->here, masks, call->num_inputs, axis);
    } else {
        for (size_t i = 1; i < call->num_inputs; i++) {
            call->mask = liana_op_logical_or_at(call->here, call->mask, masks[i]);
        }
    }
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_concatenate_options *chosen = call->options;
    int64_t rank = liana_tensor_shape(call->inputs[0]).rank;
    join_masks(call, chosen->axis < 0 ? chosen->axis + rank : chosen->axis);
    return liana_op_concat_at(call->here, call->inputs, call->num_inputs, chosen->axis);
}

const liana_layer_type liana__layer_concatenate = {
    LIANA_PART(LAYER, liana_layer_type, "Concatenate", "joins its inputs along an axis",
               LIANA_PART_OPTIONS(liana_concatenate_options, rows)),
    LIANA__INPUTS(2, LIANA_MAX_LAYER_INPUTS),
    .masking = LIANA_MASKING_OWN,
    .weights = check_shape,
    .call = call_layer,
};
