/* Losses of margins: outputs shall be at least 1 on the right side. */
#include "losses/loss.h"

static liana_tensor at_least_zero(liana_tensor x)
{
    return liana_op_maximum(x, liana__scalar_like(x, 0));
}

/* 1 - t y, or 0, with targets of -1 and 1. A target of 0 counts as -1. Keras does so where no target of the batch is
 * anything but 0 or 1. */
static liana_tensor margins(const liana_loss_call *call)
{
    liana_tensor y = call->output, target = liana__target_rows(&call->target, y), one = liana__scalar_like(y, 1);
    liana_tensor is_zero = liana_op_equal(target, liana__scalar_like(target, 0));
    liana_tensor minus = liana_op_subtract(target, liana_op_cast(is_zero, liana_tensor_dtype(y)));
    return at_least_zero(liana_op_subtract(one, liana_op_multiply(minus, y)));
}

static liana_tensor hinge(const liana_loss_call *call)
{
    return liana_op_reduce_mean(margins(call), LIANA_AXES(-1), false);
}

static liana_tensor squared_hinge(const liana_loss_call *call)
{
    return liana_op_reduce_mean(liana_op_square(margins(call)), LIANA_AXES(-1), false);
}

/* The largest output of the other classes - that of the true class + 1, or 0. As in Keras, the true class counts among
 * the others with an output of 0. */
static liana_tensor categorical_hinge(const liana_loss_call *call)
{
    liana_tensor y = call->output, target = liana__target_rows(&call->target, y), one = liana__scalar_like(y, 1);
    liana_tensor right = liana_op_reduce_sum(liana_op_multiply(target, y), LIANA_AXES(-1), false);
    liana_tensor others = liana_op_multiply(liana_op_subtract(one, target), y);
    liana_tensor wrong = liana_op_reduce_max(others, LIANA_AXES(-1), false);
    return at_least_zero(liana_op_add(liana_op_subtract(wrong, right), one));
}

const liana_loss_type liana__loss_hinge = {
    LIANA_PART(LOSS, liana_loss_type, "hinge", "How much the margin of an output is below 1; targets are -1 and 1.",
               .aliases = {"Hinge"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = hinge,
};

const liana_loss_type liana__loss_squared_hinge = {
    LIANA_PART(LOSS, liana_loss_type, "squared_hinge", "The square of hinge.", .aliases = {"SquaredHinge"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = squared_hinge,
};

const liana_loss_type liana__loss_categorical_hinge = {
    LIANA_PART(LOSS, liana_loss_type, "categorical_hinge",
               "How much the output of the true class is less than 1 above the others.",
               .aliases = {"CategoricalHinge"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_UNIT,
    .elements = categorical_hinge,
};
