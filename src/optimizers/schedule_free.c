/* Defazio et al. 2024, "The road less scheduled": Adam whose gradients are taken between the last point z and the mean
 * of all points, which takes the place of a schedule. The weights are y, where gradients are taken, as in Keras. */
#include "optimizers/optimizer.h"

typedef struct schedule_free_options {
    liana__moments_options moments;
    int64_t warmup_steps;
} schedule_free_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(liana__moments_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 1e-6,
                     .maximum = 0.9999999, .doc = "The share of the mean in the point of gradients."),
    LIANA_OPTION_ROW(liana__moments_options, beta_2, FLOAT, .default_text = "0.999", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the mean of squared gradients."),
    LIANA_OPTION_ROW(liana__moments_options, epsilon, FLOAT, .default_text = "1e-8", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to the root, against division by zero."),
    LIANA_OPTION_ROW(schedule_free_options, warmup_steps, INT, .default_text = "0", .minimum = 0, .maximum = 16777216,
                     .doc = "Length of the linear warm-up in updates."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static liana_tensor scalar(liana_tensor like, double value)
{
    return liana__optimizer_scalar(like, value);
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, scalar(x, factor));
}

/* z begins as the weights before the first update, which have decayed already. */
static liana_tensor last_point(const liana_optimizer_step *step)
{
    liana_tensor first = step->variable, one = scalar(step->iteration, 1);
    if (step->weight_decay > 0) {
        liana_tensor decay = liana_op_multiply(step->learning_rate, scalar(one, step->weight_decay));
        first = liana_op_divide(first, liana_op_subtract(one, decay));
    }
    return liana_op_select(liana_op_greater(step->iteration, one), step->slots[0], first);
}

static void update(liana_optimizer_step *step)
{
    const schedule_free_options *own = step->options;
    const liana__moments_options *options = &own->moments;
    liana_tensor rate = step->learning_rate, one = scalar(rate, 1), z = last_point(step), y = step->variable;
    if (own->warmup_steps > 0) {
        liana_tensor share = liana_op_divide(step->iteration, scalar(rate, (double)own->warmup_steps));
        rate = liana_op_multiply(rate, liana_op_minimum(share, one));
    }
    liana_tensor v = liana__optimizer_average(step->slots[1], liana_op_square(step->gradient), options->beta_2);
    liana_tensor corrected = liana_op_divide(v, liana__optimizer_correction(step->iteration, options->beta_2));
    liana_tensor root = liana_op_add(liana_op_sqrt(corrected), scalar(v, options->epsilon));
    liana_tensor next = liana_op_subtract(z, liana_op_divide(liana_op_multiply(rate, step->gradient), root));
    liana_tensor weight = liana_op_divide(one, step->iteration);
    /* The mean before the step. Keras 3.15 takes the point after the step out of y for that, where the paper has z. */
    liana_tensor x = liana_op_subtract(y, scaled(next, 1 - options->beta_1));
    x = liana_op_divide(x, scalar(x, options->beta_1));
    x = liana_op_add(liana_op_multiply(liana_op_subtract(one, weight), x), liana_op_multiply(weight, next));
    step->new_slots[0] = next;
    step->new_slots[1] = v;
    step->new_variable = liana_op_add(scaled(next, 1 - options->beta_1), scaled(x, options->beta_1));
}

const liana_optimizer_type liana__optimizer_ScheduleFreeAdamW = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "ScheduleFreeAdamW",
               "Adam between the last point and the mean of all points, which needs no schedule.",
               LIANA_PART_OPTIONS(schedule_free_options, fields)),
    .default_learning_rate = 2.5e-3,
    .slots = {"momentum", "velocity"},
    .update = update,
};
