/* GroupNormalization: groups of channels are normalised in each example. */
#include "layers/normalization/axes.h"

#include <liana/layers/normalization.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_group_normalization_options, groups, INT, .default_text = "32", .minimum = -1,
                     .maximum = INT32_MAX, .doc = "their number, a divisor of the channels; -1: one for each channel"),
    LIANA__AXIS_ROW(liana_group_normalization_options),
    LIANA_OPTION_ROW(liana_group_normalization_options, epsilon, FLOAT, .default_text = "0.001", .minimum = 0,
                     .maximum = 1, .doc = "added to the variance"),
    LIANA_OPTION_ROW(liana_group_normalization_options, center, BOOL, .default_text = "true",
                     .doc = "whether beta is added"),
    LIANA_OPTION_ROW(liana_group_normalization_options, scale, BOOL, .default_text = "true",
                     .doc = "whether the result is multiplied by gamma"),
    LIANA__INITIALIZER_ROW(liana_group_normalization_options, beta_initializer, "zeros"),
    LIANA__INITIALIZER_ROW(liana_group_normalization_options, gamma_initializer, "ones"),
    LIANA__REGULARIZER_ROW(liana_group_normalization_options, beta_regularizer),
    LIANA__REGULARIZER_ROW(liana_group_normalization_options, gamma_regularizer),
    LIANA__CONSTRAINT_ROW(liana_group_normalization_options, beta_constraint),
    LIANA__CONSTRAINT_ROW(liana_group_normalization_options, gamma_constraint),
};

static liana_status check_options(liana_check *check)
{
    const liana_group_normalization_options *chosen = check->options;
    if (chosen->groups == 0) {
        return liana_option_refuse(check, "groups", "found 0, expected a number of at least 1, or -1");
    }
    if (chosen->axis != 0) return LIANA_OK;
    return liana_option_refuse(check, "axis", "found 0, the batch, expected the axis of the channels");
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_group_normalization_options *chosen = build->options;
    LIANA_TRY(liana__build_axes(build, &chosen->axis, 1));
    const liana_shape *x = &build->inputs[0];
    const int64_t channels = x->dims[liana__axis_of(chosen->axis, x->rank)];
    if (x->rank == LIANA_MAX_RANK) return liana_layer_refuse(build, 0, "one with fewer axes");
    if (chosen->groups > 0 && channels % chosen->groups != 0) {
        char expected[120];
        snprintf(expected, sizeof expected, "channels (axis %lld) that can be cut into %lld groups; set groups",
                 (long long)chosen->axis, (long long)chosen->groups);
        return liana_layer_refuse(build, 0, expected);
    }
    const liana_shape shape = liana_shape_of(channels);
    if (chosen->scale) liana_layer_add_weight(build, "gamma", shape, chosen->gamma_initializer, true);
    if (chosen->center) liana_layer_add_weight(build, "beta", shape, chosen->beta_initializer, true);
    return build->status;
}

/* x with the channels as [groups, channels of a group], normalised over all axes but the batch and the groups. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_group_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t axis = liana__axis_of(chosen->axis, shape.rank), channels = shape.dims[axis];
    const int64_t groups = chosen->groups < 0 ? channels : chosen->groups;
    liana_shape cut = {.rank = shape.rank + 1};
    liana_axes over = {0};
    for (int i = 0; i < cut.rank; i++) {
        cut.dims[i] = i < axis ? shape.dims[i] : i == axis ? groups : shape.dims[i - 1];
        if (i == axis + 1) cut.dims[i] = channels / groups;
        if (i != 0 && i != axis) over.values[over.count++] = i;
    }
    liana_tensor y = liana__normalise_over(here, liana_op_reshape_at(here, x, cut), &over, chosen->epsilon, false);
    y = liana_op_reshape_at(here, y, shape);
    const liana_axes own = LIANA_AXES(axis);
    size_t next = 0;
    if (chosen->scale) y = liana_op_multiply_at(here, y, liana__along_axes(here, call->weights[next++], x, &own));
    if (chosen->center) y = liana_op_add_at(here, y, liana__along_axes(here, call->weights[next], x, &own));
    return y;
}

const liana_layer_type liana__layer_group_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "GroupNormalization",
               "normalises groups of channels in each example to mean 0 and variance 1, then gamma x + beta",
               LIANA_PART_OPTIONS(liana_group_normalization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
};
