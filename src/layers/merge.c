/* Add and Multiply. */
#include "layers/option_rows.h"

static liana_tensor call_add(liana_layer_call *call)
{
    liana_tensor x = call->inputs[0];
    for (size_t i = 1; i < call->num_inputs; i++) x = liana_op_add_at(call->here, x, call->inputs[i]);
    return x;
}

static liana_tensor call_multiply(liana_layer_call *call)
{
    liana_tensor x = call->inputs[0];
    for (size_t i = 1; i < call->num_inputs; i++) x = liana_op_multiply_at(call->here, x, call->inputs[i]);
    return x;
}

const liana_layer_type liana__layer_add = {
    LIANA_PART(LAYER, liana_layer_type, "Add", "the sum of its inputs",
               .options = {.size = sizeof(liana_merge_options)}),
    .keeps_shards_apart = true,
    .min_inputs = 2,
    .max_inputs = LIANA_MAX_LAYER_INPUTS,
    .masking = LIANA_MASKING_KEPT,
    .call = call_add,
};

const liana_layer_type liana__layer_multiply = {
    LIANA_PART(LAYER, liana_layer_type, "Multiply", "the product of its inputs",
               .options = {.size = sizeof(liana_merge_options)}),
    .keeps_shards_apart = true,
    .min_inputs = 2,
    .max_inputs = LIANA_MAX_LAYER_INPUTS,
    .masking = LIANA_MASKING_KEPT,
    .call = call_multiply,
};
