/* LayerNormalization and RMSNormalization: each example is normalised over axes, then multiplied by a weight. */
#include "layers/normalization/axes.h"

#include <liana/layers/normalization.h>

/* ---- over the last axes it is one op, elsewhere several ---- */

/* The rows of x, of `size` elements each, with gamma and beta of as many (beta may have id 0). */
static liana_tensor normalise_rows(liana_layer_call *call, int64_t size, liana_tensor gamma, liana_tensor beta,
                                   double epsilon, bool about_zero)
{
    const liana_location here = call->here;
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    const bool one_axis = shape.dims[shape.rank - 1] == size;
    liana_tensor x = call->inputs[0];
    if (!one_axis) x = liana_op_reshape_at(here, x, liana_shape_of(liana_shape_size(&shape) / size, size));
    gamma = liana_op_reshape_at(here, gamma, liana_shape_of(size));
    if (beta.id) beta = liana_op_reshape_at(here, beta, liana_shape_of(size));
    liana_tensor y = about_zero ? liana_op_rms_norm_at(here, x, gamma, epsilon)
                                : liana_op_layer_norm_at(here, x, gamma, beta, epsilon);
    return one_axis ? y : liana_op_reshape_at(here, y, shape);
}

static int64_t size_along(const liana_axes *axes, const liana_shape *shape)
{
    int64_t size = 1;
    for (int64_t i = 0; i < axes->count; i++) size *= shape->dims[axes->values[i]];
    return size;
}

/* gamma and beta may have id 0. */
static liana_tensor normalise(liana_layer_call *call, const liana_ints *axis, liana_tensor gamma, liana_tensor beta,
                              double epsilon, bool about_zero)
{
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    const liana_axes axes = liana__axes_of(axis, shape.rank);
    if (liana__axes_are_last(&axes, shape.rank)) {
        const int64_t size = size_along(&axes, &shape);
        if (!gamma.id) gamma = liana__constant_along(here, x, size, 1);
        return normalise_rows(call, size, gamma, beta, epsilon, about_zero);
    }
    liana_tensor y = liana__normalise_over(here, x, &axes, epsilon, about_zero);
    if (gamma.id) y = liana_op_multiply_at(here, y, liana__along_axes(here, gamma, x, &axes));
    return beta.id ? liana_op_add_at(here, y, liana__along_axes(here, beta, x, &axes)) : y;
}

/* ---- LayerNormalization ---- */

static const liana_option layer_rows[] = {
    LIANA__AXES_ROW(liana_layer_normalization_options),
    LIANA_OPTION_ROW(liana_layer_normalization_options, epsilon, FLOAT, .default_text = "0.001", .minimum = 0,
                     .maximum = 1, .doc = "added to the variance"),
    LIANA_OPTION_ROW(liana_layer_normalization_options, center, BOOL, .default_text = "true",
                     .doc = "whether beta is added"),
    LIANA_OPTION_ROW(liana_layer_normalization_options, scale, BOOL, .default_text = "true",
                     .doc = "whether the result is multiplied by gamma"),
    LIANA__INITIALIZER_ROW(liana_layer_normalization_options, beta_initializer, "zeros"),
    LIANA__INITIALIZER_ROW(liana_layer_normalization_options, gamma_initializer, "ones"),
    LIANA__REGULARIZER_ROW(liana_layer_normalization_options, beta_regularizer),
    LIANA__REGULARIZER_ROW(liana_layer_normalization_options, gamma_regularizer),
    LIANA__CONSTRAINT_ROW(liana_layer_normalization_options, beta_constraint),
    LIANA__CONSTRAINT_ROW(liana_layer_normalization_options, gamma_constraint),
    LIANA_OPTION_ROW(liana_layer_normalization_options, rms_scaling, BOOL, .default_text = "false",
                     .doc = "as in older Keras: the mean is not subtracted, and there is no beta"),
};

static liana_status check_layer(liana_check *check)
{
    return liana__check_axes(check, ((const liana_layer_normalization_options *)check->options)->axis, false);
}

static liana_status declare_layer(liana_layer_build *build)
{
    const liana_layer_normalization_options *chosen = build->options;
    const liana_ints axis = liana__given_axes(chosen->axis);
    LIANA_TRY(liana__build_axes(build, axis.values, axis.count));
    const liana_shape shape = liana__shape_along(&axis, &build->inputs[0]);
    const bool has_gamma = chosen->scale || chosen->rms_scaling, has_beta = chosen->center && !chosen->rms_scaling;
    if (has_gamma) liana_layer_add_weight(build, "gamma", shape, chosen->gamma_initializer, true);
    if (has_beta) liana_layer_add_weight(build, "beta", shape, chosen->beta_initializer, true);
    return build->status;
}

/* x r gamma is (x - mean) r gamma + mean r gamma. */
static liana_tensor scale_only(liana_layer_call *call, const liana_layer_normalization_options *chosen)
{
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_axes axes = liana__axes_of(&axis, liana_tensor_shape(x).rank);
    liana_tensor centred = liana_op_subtract_at(here, x, liana_op_reduce_mean_at(here, x, axes, true));
    liana_tensor variance = liana_op_reduce_mean_at(here, liana_op_square_at(here, centred), axes, true);
    liana_tensor small = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), chosen->epsilon);
    liana_tensor r = liana_op_rsqrt_at(here, liana_op_add_at(here, variance, small));
    return liana_op_multiply_at(here, liana_op_multiply_at(here, x, r),
                                liana__along_axes(here, call->weights[0], x, &axes));
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_layer_normalization_options *chosen = call->options;
    if (chosen->rms_scaling) return scale_only(call, chosen);
    liana_tensor gamma = {0}, beta = {0};
    size_t next = 0;
    if (chosen->scale) gamma = call->weights[next++];
    if (chosen->center) beta = call->weights[next];
    const liana_ints axis = liana__given_axes(chosen->axis);
    return normalise(call, &axis, gamma, beta, chosen->epsilon, false);
}

const liana_layer_type liana__layer_layer_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "LayerNormalization",
               "normalises each example over axes to mean 0 and variance 1, then gamma x + beta",
               LIANA_PART_OPTIONS(liana_layer_normalization_options, layer_rows), .check = check_layer),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_layer,
    .call = call_layer,
};

/* ---- RMSNormalization ---- */

static const liana_option rms_rows[] = {
    LIANA__AXES_ROW(liana_rms_normalization_options),
    LIANA_OPTION_ROW(liana_rms_normalization_options, epsilon, FLOAT, .default_text = "1e-06", .minimum = 0,
                     .maximum = 1, .doc = "added to the mean square"),
};

static liana_status check_rms(liana_check *check)
{
    return liana__check_axes(check, ((const liana_rms_normalization_options *)check->options)->axis, false);
}

/* Keras multiplies by the weight as numpy would: along the last axes, whichever axes the mean is over. */
static liana_status declare_rms(liana_layer_build *build)
{
    const liana_rms_normalization_options *chosen = build->options;
    const liana_ints axis = liana__given_axes(chosen->axis);
    LIANA_TRY(liana__build_axes(build, axis.values, axis.count));
    const liana_shape *x = &build->inputs[0], scale = liana__shape_along(&axis, x);
    for (int i = 1; i <= scale.rank; i++) {
        const int64_t size = scale.dims[scale.rank - i];
        if (size == 1 || size == x->dims[x->rank - i]) continue;
        return liana_layer_refuse(build, 0,
                                  "one whose last axes are as large as those of axis: its weight has the "
                                  "sizes of axis, and lies along the last axes, as in Keras");
    }
    liana_layer_add_weight(build, "scale", scale, "ones", true);
    return build->status;
}

static liana_tensor call_rms(liana_layer_call *call)
{
    const liana_rms_normalization_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_axes axes = liana__axes_of(&axis, liana_tensor_shape(x).rank);
    const bool ascends = axes.count == 1 || axis.values[0] < axis.values[1];
    if (ascends && liana__axes_are_last(&axes, liana_tensor_shape(x).rank)) {
        return normalise(call, &axis, call->weights[0], (liana_tensor){0}, chosen->epsilon, true);
    }
    return liana_op_multiply_at(call->here, liana__normalise_over(call->here, x, &axes, chosen->epsilon, true),
                                call->weights[0]);
}

/* As in Keras it drops a mask. */
const liana_layer_type liana__layer_rms_normalization = {
    LIANA_PART(LAYER, liana_layer_type, "RMSNormalization",
               "divides each example by its root mean square over axes, then multiplies by a weight",
               LIANA_PART_OPTIONS(liana_rms_normalization_options, rms_rows), .check = check_rms),
    LIANA__INPUTS(1, 1),
    .weights = declare_rms,
    .call = call_rms,
};
