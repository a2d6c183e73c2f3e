/* ActivityRegularization: a penalty for the size of its input, which passes through. */
#include "layers/option_rows.h"

#include <liana/layers/regularization.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_activity_regularization_options, l1, FLOAT, .default_text = "0", .minimum = 0,
                     .maximum = INFINITY, .doc = "factor of the sum of absolute values"),
    LIANA_OPTION_ROW(liana_activity_regularization_options, l2, FLOAT, .default_text = "0", .minimum = 0,
                     .maximum = INFINITY, .doc = "factor of the sum of squares"),
};

static liana_tensor call_layer(liana_layer_call *call)
{
    return call->inputs[0];
}

static void activity_regularizer(const void *chosen, char *text, size_t size)
{
    const liana_activity_regularization_options *factors = chosen;
    snprintf(text, size, "l1_l2(l1=%.17g, l2=%.17g)", factors->l1, factors->l2);
}

const liana_layer_type liana__layer_activity_regularization = {
    LIANA_PART(LAYER, liana_layer_type, "ActivityRegularization",
               "gives its input, and adds l1 * sum(|x|) + l2 * sum(x^2) of an example to the loss",
               LIANA_PART_OPTIONS(liana_activity_regularization_options, rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .sums = LIANA_SUMS_KEPT,
    .call = call_layer,
    .activity_regularizer = activity_regularizer,
};
