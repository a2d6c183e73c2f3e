/* Activation and Softmax: functions without weights. */
#include "ir/graph.h"
#include "ir/shape.h"
#include "layers/activation_functions.h"
#include "layers/activations.h"
#include "layers/normalization/axes.h"

#include <liana/layers/activation.h>

static const liana_option activation_rows[] = {
    LIANA_OPTION_ROW(liana_activation_options, activation, STRING, .required = true, .doc = "the function's name"),
};

static liana_tensor call_activation(liana_layer_call *call)
{
    const liana_activation_options *chosen = call->options;
    return liana__activate(call, chosen->activation, call->inputs[0]);
}

const liana_layer_type liana__layer_activation = {
    LIANA_PART(LAYER, liana_layer_type, "Activation", "an activation by name",
               LIANA_PART_OPTIONS(liana_activation_options, activation_rows)),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .sums = LIANA_SUMS_KEPT_BY_DOING_NOTHING,
    .call = call_activation,
};

static const liana_option softmax_rows[] = {LIANA__AXES_ROW(liana_softmax_options)};

static liana_status check_softmax(liana_check *check)
{
    return liana__check_axes(check, ((const liana_softmax_options *)check->options)->axis, false);
}

/* Of a call; the mask is optional. */
static const char *const softmax_arguments[] = {"inputs", "mask", NULL};

/* Whether a mask is broadcast to x by numpy's rule, without making it larger. */
static bool mask_fits(const liana_shape *own, const liana_shape *all)
{
    for (int i = 1; i <= own->rank; i++) {
        const int64_t size = own->dims[own->rank - i];
        if (i > all->rank || (size != 1 && size != all->dims[all->rank - i])) return false;
    }
    return true;
}

static liana_status check_softmax_shape(liana_layer_build *build)
{
    const liana_softmax_options *chosen = build->options;
    const liana_ints axis = liana__given_axes(chosen->axis);
    LIANA_TRY(liana__build_axes(build, axis.values, axis.count));
    const bool fits = build->num_inputs < 2 || mask_fits(&build->inputs[1], &build->inputs[0]);
    return fits ? LIANA_OK : liana_layer_refuse(build, 1, "a mask that is broadcast to the input, as in numpy");
}

static liana_tensor call_softmax(liana_layer_call *call)
{
    const liana_softmax_options *chosen = call->options;
    const liana_location here = call->here;
    const bool has_mask = call->num_inputs > 1 && call->inputs[1].id;
    liana_tensor x = call->inputs[0], mask = has_mask ? call->inputs[1] : call->masks[0];
    const liana_shape shape = liana_tensor_shape(x);
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_axes axes = liana__axes_of(&axis, shape.rank);
    const liana_shape own = mask.id ? liana_tensor_shape(mask) : shape;
    call->mask = call->masks[0];
    if (!mask_fits(&own, &shape)) {
        return liana__graph_fail(
            x.graph, here, LIANA_INVALID_ARGUMENT,
            "Softmax: the mask of its input is %s, which is not broadcast to %s; use the activation "
            "softmax, which passes over masks",
            liana__shape_print(&own).text, liana__shape_print(&shape).text);
    }
    if (!mask.id && axes.count == 1 && axes.values[0] == shape.rank - 1) {
        return liana__activate(call, "softmax", x);
    }
    const liana_dtype dtype = liana_tensor_dtype(x);
    if (mask.id) x = liana_op_select_at(here, mask, x, liana_graph_scalar_at(here, x.graph, dtype, -1e9));
    liana_tensor y = liana__softmax_of(here, x, &axis);
    return mask.id ? liana_op_select_at(here, mask, y, liana_graph_scalar_at(here, x.graph, dtype, 0)) : y;
}

const liana_layer_type liana__layer_softmax = {
    LIANA_PART(LAYER, liana_layer_type, "Softmax", "softmax over an axis",
               LIANA_PART_OPTIONS(liana_softmax_options, softmax_rows), .check = check_softmax),
    LIANA__INPUTS(1, 2),
    .masking = LIANA_MASKING_OWN,
    .weights = check_softmax_shape,
    .call = call_softmax,
    .arguments = softmax_arguments,
};
