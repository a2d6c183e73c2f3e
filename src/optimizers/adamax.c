/* AdaMax: Kingma and Ba (2014), section 7.1, in Keras's form: epsilon is added to the norm. */
#include "optimizers/optimizer.h"

static const liana_option fields[] = {
    LIANA_OPTION_ROW(liana__moments_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the mean of gradients."),
    LIANA_OPTION_ROW(liana__moments_options, beta_2, FLOAT, .default_text = "0.999", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the largest absolute gradient."),
    LIANA_OPTION_ROW(liana__moments_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to the largest absolute gradient, against division by zero."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static void update(liana_optimizer_step *step)
{
    const liana__moments_options *options = step->options;
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, options->beta_1);
    liana_tensor beta_2 = liana__optimizer_scalar(m, options->beta_2);
    liana_tensor u = liana_op_maximum(liana_op_multiply(beta_2, step->slots[1]), liana_op_abs(step->gradient));
    liana_tensor correction = liana__optimizer_correction(step->iteration, options->beta_1);
    liana_tensor divisor = liana_op_multiply(correction, liana_op_add(u, liana__optimizer_scalar(u, options->epsilon)));
    step->new_slots[0] = m;
    step->new_slots[1] = u;
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(step->learning_rate, m), divisor));
}

const liana_optimizer_type liana__optimizer_Adamax = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Adamax",
               "Steps by the mean gradient, divided by the largest absolute gradient, which decays.",
               LIANA_PART_OPTIONS(liana__moments_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"m", "u"},
    .update = update,
};
