/* Shazeer and Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost": the mean of squared
 * gradients of a matrix is the product of the means of its rows and columns. As in Keras the last two axes are
 * factored, and the rate is at most 1 / sqrt(updates), with or without relative_step. The means of rows and columns
 * are kept in the weight's shape, so that every slot has it. */
#include "optimizers/optimizer.h"

typedef struct adafactor_options {
    liana_optimizer_common common;
    double beta_2_decay, epsilon_1, epsilon_2, clip_threshold;
    bool relative_step;
} adafactor_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(adafactor_options, beta_2_decay, FLOAT, .default_text = "-0.8", .minimum = -10, .maximum = 0,
                     .doc = "The share of a new squared gradient in the means is the number of updates to this power."),
    LIANA_OPTION_ROW(adafactor_options, epsilon_1, FLOAT, .default_text = "1e-30", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to squared gradients."),
    LIANA_OPTION_ROW(adafactor_options, epsilon_2, FLOAT, .default_text = "1e-3", .minimum = 0, .maximum = 1e3,
                     .doc = "The least root mean square of a weight, by which steps are multiplied."),
    LIANA_OPTION_ROW(adafactor_options, clip_threshold, FLOAT, .default_text = "1.0", .minimum = 1e-12, .maximum = 1e12,
                     .doc = "The largest root mean square of a step before it is multiplied."),
    LIANA_OPTION_ROW(adafactor_options, relative_step, BOOL, .default_text = "true",
                     .doc = "Keras's option: the rate is at most 1 / sqrt(updates) in any case."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static liana_update_reads reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.whole = true};
}

static liana_tensor scalar(liana_tensor like, double value)
{
    return liana__optimizer_scalar(like, value);
}

static liana_tensor root_mean_square(liana_tensor x)
{
    return liana_op_sqrt(liana_op_reduce_mean(liana_op_square(x), LIANA_ALL_AXES, false));
}

/* The average with the mean over an axis, in the shape of `square`. */
static liana_tensor factor(liana_tensor old, liana_tensor square, int64_t axis, liana_tensor share)
{
    liana_tensor mean = liana_op_reduce_mean(square, LIANA_AXES(axis), true);
    liana_tensor value = liana_op_broadcast_to(mean, liana_tensor_shape(square));
    liana_tensor kept = liana_op_multiply(liana_op_subtract(scalar(share, 1), share), old);
    return liana_op_add(kept, liana_op_multiply(share, value));
}

static void update(liana_optimizer_step *step)
{
    const adafactor_options *options = step->options;
    enum { ROWS, COLUMNS, VELOCITY };
    liana_tensor iteration = step->iteration, one = scalar(iteration, 1);
    liana_tensor least = liana_op_minimum(step->learning_rate, liana_op_divide(one, liana_op_sqrt(iteration)));
    liana_tensor size = liana_op_maximum(root_mean_square(step->variable), scalar(least, options->epsilon_2));
    liana_tensor share = liana_op_power(iteration, scalar(iteration, options->beta_2_decay));
    liana_tensor square = liana_op_add(liana_op_square(step->gradient), scalar(step->gradient, options->epsilon_1));
    for (int i = 0; i < 3; i++) step->new_slots[i] = liana_op_multiply(step->slots[i], scalar(step->slots[i], 1));
    if (liana_tensor_shape(square).rank >= 2) {
        liana_tensor rows = step->new_slots[ROWS] = factor(step->slots[ROWS], square, -1, share);
        liana_tensor columns = step->new_slots[COLUMNS] = factor(step->slots[COLUMNS], square, -2, share);
        liana_tensor mean = liana_op_reduce_mean(rows, LIANA_AXES(-2), true);
        step->new_slots[VELOCITY] = liana_op_multiply(liana_op_divide(rows, mean), columns);
    } else {
        liana_tensor kept = liana_op_multiply(liana_op_subtract(one, share), step->slots[VELOCITY]);
        step->new_slots[VELOCITY] = liana_op_add(kept, liana_op_multiply(share, square));
    }
    liana_tensor u = liana_op_divide(step->gradient, liana_op_sqrt(step->new_slots[VELOCITY]));
    liana_tensor excess = liana_op_divide(root_mean_square(u), scalar(u, options->clip_threshold));
    u = liana_op_divide(u, liana_op_maximum(excess, scalar(excess, 1)));
    liana__optimizer_descend(step, liana_op_multiply(liana_op_multiply(size, least), u));
}

const liana_optimizer_type liana__optimizer_Adafactor = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Adafactor",
               "Steps in proportion to the weights, by gradients over the means of squared ones of rows and columns.",
               LIANA_PART_OPTIONS(adafactor_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"r", "c", "velocity"},
    .reads = reads,
    .update = update,
};
