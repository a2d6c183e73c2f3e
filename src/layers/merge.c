/* Add and Multiply. */
#include "layers/option_rows.h"

static const liana__fields add_options = {"Add", sizeof(liana_merge_options), 0, NULL};
static const liana__fields multiply_options = {"Multiply", sizeof(liana_merge_options), 0, NULL};

static liana_tensor call_add(liana__layer_call *call)
{
    liana_tensor x = call->inputs[0];
    for (size_t i = 1; i < call->num_inputs; i++) x = liana_op_add_at(call->here, x, call->inputs[i]);
    return x;
}

static liana_tensor call_multiply(liana__layer_call *call)
{
    liana_tensor x = call->inputs[0];
    for (size_t i = 1; i < call->num_inputs; i++) x = liana_op_multiply_at(call->here, x, call->inputs[i]);
    return x;
}

const liana__layer_type liana__layer_add = {
    .name = "Add",
    .doc = "the sum of its inputs",
    .options = &add_options,
    .min_inputs = 2,
    .max_inputs = LIANA_MAX_LAYER_INPUTS,
    .masking = LIANA__MASK_KEPT,
    .call = call_add,
};

const liana__layer_type liana__layer_multiply = {
    .name = "Multiply",
    .doc = "the product of its inputs",
    .options = &multiply_options,
    .min_inputs = 2,
    .max_inputs = LIANA_MAX_LAYER_INPUTS,
    .masking = LIANA__MASK_KEPT,
    .call = call_multiply,
};
