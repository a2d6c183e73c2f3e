/* Identity: its input. */
#include "layers/option_rows.h"

#include <liana/layers/core.h>

static liana_tensor call_layer(liana_layer_call *call)
{
    return call->inputs[0];
}

const liana_layer_type liana__layer_identity = {
    LIANA_PART(LAYER, liana_layer_type, "Identity", "its input", .options = {.size = sizeof(liana_identity_options)}),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .masking = LIANA_MASKING_KEPT,
    .sums = LIANA_SUMS_KEPT,
    .call = call_layer,
};
