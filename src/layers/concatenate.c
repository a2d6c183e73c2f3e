/* Concatenate: joins inputs along an axis. */
#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__FIELD_ROW(liana_concatenate_options, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK,
                     .doc = "the axis along which the inputs are joined; negative axes count from the end"),
};
static const liana__fields options = LIANA__FIELD_TABLE("Concatenate", liana_concatenate_options, rows);

static liana_status check_shape(liana__layer_build *build)
{
    const liana_concatenate_options *chosen = build->options;
    int64_t rank = build->inputs[0].rank, axis = chosen->axis < 0 ? chosen->axis + rank : chosen->axis;
    return axis >= 1 && axis < rank ? LIANA_OK : liana__build_fail(build, 0, "one that has the concatenation's axis");
}

static liana_tensor call_layer(liana__layer_call *call)
{
    const liana_concatenate_options *chosen = call->options;
    return liana_op_concat_at(call->here, call->inputs, call->num_inputs, chosen->axis);
}

const liana__layer_type liana__layer_concatenate = {
    .name = "Concatenate",
    .doc = "joins its inputs along an axis",
    .options = &options,
    .min_inputs = 2,
    .max_inputs = LIANA_MAX_LAYER_INPUTS,
    .weights = check_shape,
    .call = call_layer,
};
