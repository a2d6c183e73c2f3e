/* UnitNormalization: each example is divided by its length along axes. */
#include "layers/normalization/axes.h"

#include <liana/layers/normalization.h>

static const liana_option rows[] = {LIANA__AXES_ROW(liana_unit_normalization_options)};

static liana_status check_options(liana_check *check)
{
    return liana__check_axes(check, ((const liana_unit_normalization_options *)check->options)->axis, false);
}

static liana_status check_shape(liana_layer_build *build)
{
    const liana_unit_normalization_options *chosen = build->options;
    const liana_ints axis = liana__given_axes(chosen->axis);
    return liana__build_axes(build, axis.values, axis.count);
}

/* x times 1 / sqrt(sum(x^2)), or times 1e12 where that is greater. The root of a sum of at least 1e-24 has a finite
 * gradient. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_unit_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_axes axes = liana__axes_of(&axis, liana_tensor_shape(x).rank);
    liana_tensor square = liana_op_square_at(here, x);
    liana_tensor sum = liana_op_reduce_sum_at(here, square, axes, true);
    liana_tensor least = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), 1e-24);
    return liana_op_multiply_at(here, x, liana_op_rsqrt_at(here, liana_op_maximum_at(here, sum, least)));
}

const liana_layer_type liana__layer_unit_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "UnitNormalization", "divides each example by its length along axes",
               LIANA_PART_OPTIONS(liana_unit_normalization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = check_shape,
    .call = call_layer,
};
