/* Add and Multiply. */
#include "layers/option_rows.h"

#include <liana/layers/merging.h>

#define MERGE(op, class_name, doc)                                                                              \
    static liana_tensor call_##op(liana_layer_call *call)                                                       \
    {                                                                                                           \
        liana_tensor x = call->inputs[0];                                                                       \
        for (size_t i = 1; i < call->num_inputs; i++) x = liana_op_##op##_at(call->here, x, call->inputs[i]);   \
        return x;                                                                                               \
    }                                                                                                           \
    const liana_layer_type liana__layer_##op = {                                                                \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc, .options = {.size = sizeof(liana_merge_options)}), \
        LIANA__INPUTS(2, LIANA_MAX_LAYER_INPUTS),                                                               \
        .masking = LIANA_MASKING_KEPT,                                                                          \
        .call = call_##op,                                                                                      \
    };
MERGE(add, "Add", "the sum of its inputs")
MERGE(multiply, "Multiply", "the product of its inputs")
