/* Rescaling: multiplies by a scale and adds an offset. */
#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__FIELD_ROW(liana_rescaling_options, scale, FLOAT, .required = true,
                     .doc = "factor, such as 0.00392156862745098"),
    LIANA__FIELD_ROW(liana_rescaling_options, offset, FLOAT, .doc = "added after scaling"),
};
static const liana__fields options = LIANA__FIELD_TABLE("Rescaling", liana_rescaling_options, rows);

static liana_tensor call_layer(liana__layer_call *call)
{
    const liana_rescaling_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    liana_dtype dtype = liana_tensor_dtype(x);
    x = liana_op_multiply_at(call->here, x, liana_graph_scalar_at(call->here, x.graph, dtype, chosen->scale));
    if (chosen->offset == 0) return x;
    return liana_op_add_at(call->here, x, liana_graph_scalar_at(call->here, x.graph, dtype, chosen->offset));
}

const liana__layer_type liana__layer_rescaling = {
    .name = "Rescaling",
    .doc = "x * scale + offset",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .masking = LIANA__MASK_KEPT,
    .call = call_layer,
};
