/* Losses of numbers: the distance of outputs to targets, averaged over the last axis. */
#include "losses/loss.h"

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

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

/* |e| of 100 for each unit of the target. */
static liana_tensor percentage(const liana_loss_call *call)
{
    liana_tensor target = liana__target_rows(&call->target, call->output);
    liana_tensor size = liana_op_maximum(liana_op_abs(target), liana__scalar_like(target, EPSILON));
    liana_tensor share = liana_op_abs(liana_op_divide(error_of(call), size));
    return liana_op_multiply(mean_of_last_axis(share), liana__scalar_like(share, 100));
}

/* log(1 + x), of what is at least 0. */
static liana_tensor log_of(liana_tensor x)
{
    return liana_op_log1p(liana_op_maximum(x, liana__scalar_like(x, EPSILON)));
}

static liana_tensor squared_logarithmic(const liana_loss_call *call)
{
    liana_tensor target = liana__target_rows(&call->target, call->output);
    return mean_of_last_axis(liana_op_square(liana_op_subtract(log_of(call->output), log_of(target))));
}

/* log((e^x + e^-x) / 2) = |x| + log1p(e^(-2 |x|)) - log 2, which cannot overflow. */
static liana_tensor log_cosh(const liana_loss_call *call)
{
    liana_tensor size = liana_op_abs(error_of(call));
    liana_tensor tail = liana_op_log1p(liana_op_exp(liana_op_multiply(size, liana__scalar_like(size, -2))));
    liana_tensor each = liana_op_subtract(liana_op_add(size, tail), liana__scalar_like(size, 0.69314718055994531));
    return mean_of_last_axis(each);
}

/* -log of the probability of a count under a Poisson distribution whose mean is the output, without the terms that do
 * not depend on it. */
static liana_tensor poisson(const liana_loss_call *call)
{
    liana_tensor mean = call->output, target = liana__target_rows(&call->target, mean);
    liana_tensor logs = liana_op_log(liana_op_add(mean, liana__scalar_like(mean, EPSILON)));
    return mean_of_last_axis(liana_op_subtract(mean, liana_op_multiply(target, logs)));
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

const liana_loss_type liana__loss_mean_absolute_percentage_error = {
    LIANA_PART(LOSS, liana_loss_type, "mean_absolute_percentage_error",
               "The difference between output and target in percent of the target.",
               .aliases = {"mape", "MeanAbsolutePercentageError"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = percentage,
};

const liana_loss_type liana__loss_mean_squared_logarithmic_error = {
    LIANA_PART(LOSS, liana_loss_type, "mean_squared_logarithmic_error",
               "The square of the difference between log(1 + output) and log(1 + target).",
               .aliases = {"msle", "MeanSquaredLogarithmicError"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = squared_logarithmic,
};

const liana_loss_type liana__loss_log_cosh = {
    LIANA_PART(LOSS, liana_loss_type, "log_cosh",
               "The logarithm of the hyperbolic cosine of the difference: much like huber.",
               .aliases = {"LogCosh", "logcosh"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = log_cosh,
};

const liana_loss_type liana__loss_poisson = {
    LIANA_PART(LOSS, liana_loss_type, "poisson", "-log of the probability of a count whose mean is the output.",
               .aliases = {"Poisson"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = poisson,
};
