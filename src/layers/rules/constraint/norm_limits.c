/* MaxNorm, MinMaxNorm and UnitNorm: limits of the norms along some axes. */
#include "layers/rules/constraints.h"

#include <math.h>

typedef struct limits {
    double min_value, max_value, rate;
    liana_ints axis;
} limits;

/* Keras's epsilon. */
static const double EPSILON = 1e-7;

#define NORM_ROW(member, standard, text)                                                                   \
    LIANA_OPTION_ROW(limits, member, FLOAT, .default_text = (standard), .minimum = 0, .maximum = INFINITY, \
                     .doc = (text))
#define AXIS_ROW \
    LIANA_OPTION_ROW(limits, axis, INTS, .default_text = "[0]", .doc = "the axes along which norms are taken")

static const liana_option max_rows[] = {NORM_ROW(max_value, "2", "the largest norm"), AXIS_ROW};
static const liana_option min_max_rows[] = {
    NORM_ROW(min_value, "0", "the smallest norm"),
    NORM_ROW(max_value, "1", "the largest norm"),
    LIANA_OPTION_ROW(limits, rate, FLOAT, .default_text = "1", .minimum = 0, .maximum = 1,
                     .doc = "how far an update moves a norm to its limit: 1 moves it there"),
    AXIS_ROW,
};
static const liana_option unit_rows[] = {AXIS_ROW};

/* Negative axes count from the end. */
static int64_t axis_of(const limits *chosen, int64_t index, int rank)
{
    int64_t axis = chosen->axis.values[index];
    return axis < 0 ? axis + rank : axis;
}

static liana_status fit_axes(liana_check *check, const liana_shape *shape)
{
    const limits *chosen = check->options;
    bool used[LIANA_MAX_RANK] = {false};
    if (chosen->axis.count == 0) return liana_option_refuse(check, "axis", "expected at least one axis");
    for (int64_t i = 0; i < chosen->axis.count; i++) {
        int64_t axis = axis_of(chosen, i, shape->rank);
        if (axis < 0 || axis >= shape->rank) {
            return liana_option_refuse(check, "axis", "found %lld, but the weight has axes 0 to %d",
                                       (long long)chosen->axis.values[i], shape->rank - 1);
        }
        if (used[axis]) return liana_option_refuse(check, "axis", "found axis %lld twice", (long long)axis);
        used[axis] = true;
    }
    return LIANA_OK;
}

static liana_status fit_limits(liana_check *check, const liana_shape *shape)
{
    const limits *chosen = check->options;
    if (chosen->min_value > chosen->max_value) {
        return liana_option_refuse(check, NULL, "found min_value %g above max_value %g", chosen->min_value,
                                   chosen->max_value);
    }
    return fit_axes(check, shape);
}

static liana_tensor number(liana_tensor like, double value)
{
    return liana_graph_scalar(like.graph, liana_tensor_dtype(like), value);
}

/* Along the chosen axes, which stay with size 1. */
static liana_tensor norms_of(const limits *chosen, liana_tensor variable)
{
    liana_axes axes = {.count = chosen->axis.count};
    int rank = liana_tensor_shape(variable).rank;
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = axis_of(chosen, i, rank);
    return liana_op_sqrt(liana_op_reduce_sum(liana_op_square(variable), axes, true));
}

/* The variable with other norms. */
static liana_tensor with_norms(liana_tensor variable, liana_tensor norms, liana_tensor wanted)
{
    liana_tensor factor = liana_op_divide(wanted, liana_op_add(norms, number(norms, EPSILON)));
    return liana_op_multiply(variable, factor);
}

static liana_tensor apply_max(const liana_constraint_call *call)
{
    const limits *chosen = call->options;
    liana_tensor variable = call->variable, norms = norms_of(chosen, variable);
    return with_norms(variable, norms, liana_op_clip(norms, 0, chosen->max_value));
}

static liana_tensor apply_min_max(const liana_constraint_call *call)
{
    const limits *chosen = call->options;
    liana_tensor variable = call->variable, norms = norms_of(chosen, variable);
    liana_tensor moved =
        liana_op_multiply(liana_op_clip(norms, chosen->min_value, chosen->max_value), number(norms, chosen->rate));
    liana_tensor kept = liana_op_multiply(norms, number(norms, 1 - chosen->rate));
    return with_norms(variable, norms, liana_op_add(moved, kept));
}

static liana_tensor apply_unit(const liana_constraint_call *call)
{
    liana_tensor norms = norms_of(call->options, call->variable);
    return liana_op_divide(call->variable, liana_op_add(norms, number(norms, EPSILON)));
}

#define NORM(name, alias, rows, fits_, apply_, doc)                                   \
    const liana_constraint_type liana__constraint_##name = {                          \
        LIANA_PART(CONSTRAINT, liana_constraint_type, #name, doc, .aliases = {alias}, \
                   LIANA_PART_OPTIONS(limits, rows)),                                 \
        .fits = fits_,                                                                \
        .apply = apply_,                                                              \
    };
NORM(max_norm, "MaxNorm", max_rows, fit_axes, apply_max, "norms along axis are at most max_value")
NORM(min_max_norm, "MinMaxNorm", min_max_rows, fit_limits, apply_min_max,
     "norms along axis move to min_value..max_value, by a share rate of the way")
NORM(unit_norm, "UnitNorm", unit_rows, fit_axes, apply_unit, "norms along axis are 1")
