/* Masking: leaves out the steps of a sequence that hold one value only. */
#include "layers/option_rows.h"

#include <liana/layers/core.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_masking_options, mask_value, FLOAT, .default_text = "0.0",
                     .doc = "a step whose numbers are all equal to it is padding, and becomes zeros"),
};

static liana_status check_input(liana_layer_build *build)
{
    return build->inputs[0].rank >= 2 ? LIANA_OK : liana_layer_refuse(build, 0, "[batch, ..., features]");
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_masking_options *chosen = call->options;
    const liana_location here = call->here;
    liana_tensor x = call->inputs[0];
    const liana_dtype dtype = liana_tensor_dtype(x);
    liana_tensor zero = liana_graph_scalar_at(here, x.graph, dtype, 0);
    liana_tensor value = liana_graph_scalar_at(here, x.graph, dtype, chosen->mask_value);
    liana_tensor differs = liana_op_cast_at(here, liana_op_not_equal_at(here, x, value), dtype);
    liana_tensor counts = liana_op_greater_at(here, liana_op_reduce_max_at(here, differs, LIANA_AXES(-1), true), zero);
    liana_shape shape = liana_tensor_shape(x);
    shape.rank--;
    call->mask = liana_op_reshape_at(here, counts, shape);
    return liana_op_select_at(here, counts, x, zero);
}

/* Keras 3 may write the number as a tensor. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *value = liana__value_get(config, "mask_value");
    const liana__value *inner = value ? liana__value_get(liana__value_get(value, "config"), "value") : NULL;
    if (inner) liana__value_set(arena, options, "mask_value", liana__value_copy(arena, inner));
}

const liana_layer_type liana__layer_masking = {
    LIANA_PART(LAYER, liana_layer_type, "Masking", "leaves out the steps of a sequence that hold one value only",
               LIANA_PART_OPTIONS(liana_masking_options, rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_OWN,
    .weights = check_input,
    .call = call_layer,
    .from_keras = from_keras,
};
