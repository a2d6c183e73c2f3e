/* FTRL-Proximal: McMahan et al., "Ad click prediction: a view from the trenches" (2013), in Keras's form. Shrinkage
 * adds to the gradient, the other strengths to the function that is minimised in closed form. */
#include "optimizers/optimizer.h"

typedef struct ftrl_options {
    liana_optimizer_common common;
    double learning_rate_power;
    double initial_accumulator_value;
    double l1_regularization_strength;
    double l2_regularization_strength;
    double l2_shrinkage_regularization_strength;
    double beta;
} ftrl_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(ftrl_options, learning_rate_power, FLOAT, .default_text = "-0.5", .minimum = -10, .maximum = 0,
                     .doc = "How the rate falls with the sum of squared gradients; 0: not at all."),
    LIANA_OPTION_ROW(ftrl_options, initial_accumulator_value, FLOAT, .default_text = "0.1", .minimum = 0,
                     .maximum = 1e6, .doc = "Where the sum of squared gradients begins."),
    LIANA_OPTION_ROW(ftrl_options, l1_regularization_strength, FLOAT, .default_text = "0.0", .minimum = 0,
                     .maximum = 1e6, .doc = "Strength of L1, which makes weights exactly 0."),
    LIANA_OPTION_ROW(ftrl_options, l2_regularization_strength, FLOAT, .default_text = "0.0", .minimum = 0,
                     .maximum = 1e6, .doc = "Strength of L2."),
    LIANA_OPTION_ROW(ftrl_options, l2_shrinkage_regularization_strength, FLOAT, .default_text = "0.0", .minimum = 0,
                     .maximum = 1e6, .doc = "Strength of an L2 penalty that only the gradient sees."),
    LIANA_OPTION_ROW(ftrl_options, beta, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1e6,
                     .doc = "The paper's beta: smaller steps at the start."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static double begins_at(const void *options, size_t slot)
{
    return slot == 0 ? ((const ftrl_options *)options)->initial_accumulator_value : 0;
}

static liana_tensor times(liana_tensor x, double factor)
{
    return liana_op_multiply(liana__optimizer_scalar(x, factor), x);
}

/* accumulator^-power: over the learning rate the inverse of an element's rate. */
static liana_tensor inverse_of(const liana_optimizer_step *step, liana_tensor accumulator)
{
    const ftrl_options *options = step->options;
    return liana_op_power(accumulator, liana__optimizer_scalar(accumulator, -options->learning_rate_power));
}

static void update(liana_optimizer_step *step)
{
    const ftrl_options *options = step->options;
    const double l1 = options->l1_regularization_strength, l2 = options->l2_regularization_strength;
    liana_tensor variable = step->variable, rate = step->learning_rate;
    liana_tensor shrinkage = times(variable, 2 * options->l2_shrinkage_regularization_strength);
    liana_tensor gradient = liana_op_add(step->gradient, shrinkage);
    liana_tensor sum = liana_op_add(step->slots[0], liana_op_square(step->gradient));
    liana_tensor inverse = inverse_of(step, sum), now = liana_op_divide(inverse, rate);
    /* The difference of near numbers comes before the division, which rounds. */
    liana_tensor change = liana_op_divide(liana_op_subtract(inverse, inverse_of(step, step->slots[0])), rate);
    liana_tensor moved = liana_op_multiply(change, variable);
    liana_tensor linear = liana_op_add(step->slots[1], liana_op_subtract(gradient, moved));
    liana_tensor of_beta = liana_op_divide(liana__optimizer_scalar(rate, options->beta), rate);
    liana_tensor strength = liana_op_add(liana__optimizer_scalar(rate, 2 * l2), of_beta);
    liana_tensor numerator = liana_op_subtract(liana_op_clip(linear, -l1, l1), linear);
    step->new_slots[0] = sum;
    step->new_slots[1] = linear;
    step->new_variable = liana_op_divide(numerator, liana_op_add(now, strength));
}

const liana_optimizer_type liana__optimizer_Ftrl = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Ftrl",
               "Follows the regularised leader: the minimum of all gradients so far with L1 and L2.",
               LIANA_PART_OPTIONS(ftrl_options, fields)),
    .default_learning_rate = 1e-3,
    .slot_begins_at = begins_at,
    .slots = {"accumulator", "linear"},
    .update = update,
};
