/* Losses of numbers: the distance of outputs to targets, averaged over the last axis. */
#include "losses/loss.h"

static liana_tensor mean_of_last_axis(liana_tensor each)
{
    return liana_op_reduce_mean(each, LIANA_AXES(-1), false);
}

static liana_tensor error_of(const liana_loss_call *call)
{
    return liana_op_subtract(call->output, liana__target_rows(&call->target, call->output));
}

static liana_tensor squared(const liana_loss_call *call)
{
    return mean_of_last_axis(liana_op_square(error_of(call)));
}

static liana_tensor absolute(const liana_loss_call *call)
{
    return mean_of_last_axis(liana_op_abs(error_of(call)));
}

typedef struct huber_options {
    double delta;
} huber_options;

static const liana_option huber_fields[] = {
    LIANA_OPTION_ROW(huber_options, delta, FLOAT, .default_text = "1.0", .minimum = 1e-30, .maximum = 1e30,
                     .doc = "Up to this error the loss is quadratic, beyond it linear."),
};

/* Huber 1964: e^2 / 2 where |e| <= delta, else delta |e| - delta^2 / 2. With q = min(|e|, delta) it is
 * q (|e| - q / 2). */
static liana_tensor huber(const liana_loss_call *call)
{
    const huber_options *options = call->options;
    liana_tensor distance = liana_op_abs(error_of(call));
    liana_tensor quadratic = liana_op_minimum(distance, liana__scalar_like(distance, options->delta));
    liana_tensor half = liana_op_multiply(quadratic, liana__scalar_like(distance, 0.5));
    return mean_of_last_axis(liana_op_multiply(quadratic, liana_op_subtract(distance, half)));
}

const liana_loss_type liana__loss_mean_squared_error = {
    LIANA_PART(LOSS, liana_loss_type, "mean_squared_error", "The square of the difference between output and target.",
               .aliases = {"mse", "MeanSquaredError"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = squared,
};

const liana_loss_type liana__loss_mean_absolute_error = {
    LIANA_PART(LOSS, liana_loss_type, "mean_absolute_error",
               "The difference between output and target, without its sign.", .aliases = {"mae", "MeanAbsoluteError"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = absolute,
};

const liana_loss_type liana__loss_huber = {
    LIANA_PART(LOSS, liana_loss_type, "huber", "Quadratic for small differences, linear for large ones.",
               .aliases = {"Huber", "huber_loss"}, LIANA_PART_OPTIONS(huber_options, huber_fields)),
    .targets = LIANA_TARGET_VALUES,
    .elements = huber,
};
