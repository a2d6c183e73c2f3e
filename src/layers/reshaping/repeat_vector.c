/* RepeatVector: a row several times, as the steps of a sequence. */
#include "layers/option_rows.h"

#include <liana/layers/reshaping.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_repeat_vector_options, n, .required = true, .doc = "how often each row is repeated"),
};

static liana_status check_input(liana_layer_build *build)
{
    if (build->inputs[0].rank == 2) return LIANA_OK;
    return liana_layer_refuse(build, 0, "rows: [batch, features]");
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_repeat_vector_options *chosen = call->options;
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    liana_tensor row =
        liana_op_reshape_at(call->here, call->inputs[0], liana_shape_of(shape.dims[0], 1, shape.dims[1]));
    return liana_op_broadcast_to_at(call->here, row, liana_shape_of(shape.dims[0], chosen->n, shape.dims[1]));
}

const liana_layer_type liana__layer_repeat_vector = {
    LIANA_PART(LAYER, liana_layer_type, "RepeatVector", "a row several times, as the steps of a sequence",
               LIANA_PART_OPTIONS(liana_repeat_vector_options, rows)),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .sums = LIANA_SUMS_KEPT,
    .weights = check_input,
    .call = call_layer,
};
