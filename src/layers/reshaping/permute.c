/* Permute: the axes of an example in another order. */
#include "layers/option_rows.h"

#include <liana/layers/reshaping.h>

#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_permute_options, dims, INTS, .required = true, .minimum = 1, .maximum = LIANA_MAX_RANK,
                     .doc = "the axes in their new order; the first behind the batch is 1"),
};

static liana_status check_options(liana_check *check)
{
    const liana_permute_options *chosen = check->options;
    unsigned seen = 0;
    for (int64_t i = 0; i < chosen->dims.count; i++) {
        const int64_t axis = chosen->dims.values[i];
        if (axis > chosen->dims.count || seen >> axis & 1) {
            return liana_option_refuse(check, "dims", "found %lld among %lld axes, expected each of 1 to %lld once",
                                       (long long)axis, (long long)chosen->dims.count, (long long)chosen->dims.count);
        }
        seen |= 1u << axis;
    }
    return LIANA_OK;
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_permute_options *chosen = build->options;
    char expected[64];
    if (build->inputs[0].rank == chosen->dims.count + 1) return LIANA_OK;
    snprintf(expected, sizeof expected, "%lld axes behind the batch, as dims has", (long long)chosen->dims.count);
    return liana_layer_refuse(build, 0, expected);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_permute_options *chosen = call->options;
    liana_axes order = {.count = chosen->dims.count + 1};
    for (int64_t i = 0; i < chosen->dims.count; i++) order.values[i + 1] = chosen->dims.values[i];
    return liana_op_transpose_at(call->here, call->inputs[0], order);
}

const liana_layer_type liana__layer_permute = {
    LIANA_PART(LAYER, liana_layer_type, "Permute", "the axes of an example in another order",
               LIANA_PART_OPTIONS(liana_permute_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .weights = check_input,
    .call = call_layer,
};
