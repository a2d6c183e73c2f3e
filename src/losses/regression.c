/* Losses of numbers: the distance of outputs to targets, averaged over the last axis. */
#include "losses/loss.h"

static liana_tensor mean_of_last_axis(liana_tensor each)
{
    return liana_op_reduce_mean(each, LIANA_AXES(-1), false);
}

static liana_tensor error_of(const liana__loss_call *call)
{
    return liana_op_subtract(call->output, liana__target_rows(&call->target, call->output));
}

static liana_tensor squared(const liana__loss_call *call)
{
    return mean_of_last_axis(liana_op_square(error_of(call)));
}

static liana_tensor absolute(const liana__loss_call *call)
{
    return mean_of_last_axis(liana_op_abs(error_of(call)));
}

typedef struct huber_options {
    double delta;
} huber_options;

static const liana__field huber_fields[] = {
    LIANA__FIELD_ROW(huber_options, delta, FLOAT, .default_text = "1.0", .minimum = 1e-30, .maximum = 1e30,
                     .doc = "Up to this error the loss is quadratic, beyond it linear."),
};

/* Huber 1964: e^2 / 2 where |e| <= delta, else delta |e| - delta^2 / 2. With q = min(|e|, delta) it is
 * q (|e| - q / 2). */
static liana_tensor huber(const liana__loss_call *call)
{
    const huber_options *options = call->options;
    liana_tensor distance = liana_op_abs(error_of(call));
    liana_tensor quadratic = liana_op_minimum(distance, liana__scalar_like(distance, options->delta));
    liana_tensor half = liana_op_multiply(quadratic, liana__scalar_like(distance, 0.5));
    return mean_of_last_axis(liana_op_multiply(quadratic, liana_op_subtract(distance, half)));
}

static const liana__fields squared_options = {"mean_squared_error", 0, 0, NULL};
static const liana__fields absolute_options = {"mean_absolute_error", 0, 0, NULL};
static const liana__fields huber_table = LIANA__FIELD_TABLE("huber", huber_options, huber_fields);

const liana__loss liana__loss_mean_squared_error = {
    .name = "mean_squared_error",
    .aliases = {"mse", "MeanSquaredError"},
    .doc = "The square of the difference between output and target.",
    .options = &squared_options,
    .targets = LIANA__TARGET_VALUES,
    .elements = squared,
};

const liana__loss liana__loss_mean_absolute_error = {
    .name = "mean_absolute_error",
    .aliases = {"mae", "MeanAbsoluteError"},
    .doc = "The difference between output and target, without its sign.",
    .options = &absolute_options,
    .targets = LIANA__TARGET_VALUES,
    .elements = absolute,
};

const liana__loss liana__loss_huber = {
    .name = "huber",
    .aliases = {"Huber", "huber_loss"},
    .doc = "Quadratic for small differences, linear for large ones.",
    .options = &huber_table,
    .targets = LIANA__TARGET_VALUES,
    .elements = huber,
};
