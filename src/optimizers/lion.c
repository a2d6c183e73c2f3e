/* Lion: Chen et al., "Symbolic discovery of optimization algorithms" (2023). */
#include "optimizers/optimizer.h"

typedef struct lion_options {
    liana_optimizer_common common;
    double beta_1;
    double beta_2;
} lion_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(lion_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 1,
                     .doc = "The share of the mean gradient in the step's sign; the rest is the gradient's."),
    LIANA_OPTION_ROW(lion_options, beta_2, FLOAT, .default_text = "0.99", .minimum = 0, .maximum = 1,
                     .doc = "Decay of the mean of gradients."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static liana_tensor mix(liana_tensor m, liana_tensor gradient, double share)
{
    liana_tensor kept = liana_op_multiply(m, liana__optimizer_scalar(m, share));
    return liana_op_add(kept, liana_op_multiply(gradient, liana__optimizer_scalar(m, 1 - share)));
}

static void update(liana_optimizer_step *step)
{
    const lion_options *options = step->options;
    liana_tensor sign = liana_op_sign(mix(step->slots[0], step->gradient, options->beta_1));
    step->new_slots[0] = mix(step->slots[0], step->gradient, options->beta_2);
    liana__optimizer_descend(step, liana_op_multiply(step->learning_rate, sign));
}

const liana_optimizer_type liana__optimizer_Lion = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Lion", "Steps of one size, by the sign of the mean gradient.",
               LIANA_PART_OPTIONS(lion_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"m"},
    .update = update,
};
