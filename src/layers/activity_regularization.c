/* ActivityRegularization: a penalty for the size of what passes through. */
#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__FIELD_ROW(liana_activity_regularization_options, l1, FLOAT, .default_text = "0", .minimum = 0,
                     .maximum = INFINITY, .doc = "factor of the sum of absolute values"),
    LIANA__FIELD_ROW(liana_activity_regularization_options, l2, FLOAT, .default_text = "0", .minimum = 0,
                     .maximum = INFINITY, .doc = "factor of the sum of squares"),
};
static const liana__fields options =
    LIANA__FIELD_TABLE("ActivityRegularization", liana_activity_regularization_options, rows);

static liana_tensor call_layer(liana__layer_call *call)
{
    return call->inputs[0];
}

static const char *activity_regularizer(liana__arena *arena, const void *chosen)
{
    const liana_activity_regularization_options *factors = chosen;
    return liana__arena_format(arena, "l1_l2(l1=%.17g, l2=%.17g)", factors->l1, factors->l2);
}

const liana__layer_type liana__layer_activity_regularization = {
    .name = "ActivityRegularization",
    .doc = "gives its input, and adds l1 * sum(|x|) + l2 * sum(x^2) of an example to the loss",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .masking = LIANA__MASK_KEPT,
    .sums = LIANA__SUMS_KEPT,
    .call = call_layer,
    .activity_regularizer = activity_regularizer,
};
