/* AdaMax: Kingma and Ba (2014), section 7.1, in Keras's form: epsilon is added to the norm. */
#include "optimizers/optimizer.h"

typedef struct adamax_options {
    liana__optimizer_common common;
    double beta_1;
    double beta_2;
    double epsilon;
} adamax_options;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(adamax_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the mean of gradients."),
    LIANA__FIELD_ROW(adamax_options, beta_2, FLOAT, .default_text = "0.999", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the largest absolute gradient."),
    LIANA__FIELD_ROW(adamax_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to the largest absolute gradient, against division by zero."),
    LIANA__OPTIMIZER_FIELDS("null"),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("Adamax", adamax_options, fields);

static void update(liana__optimizer_step *step)
{
    const adamax_options *options = step->options;
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, options->beta_1);
    liana_tensor beta_2 = liana__optimizer_scalar(m, options->beta_2);
    liana_tensor u = liana_op_maximum(liana_op_multiply(beta_2, step->slots[1]), liana_op_abs(step->gradient));
    liana_tensor correction = liana__optimizer_correction(step->iteration, options->beta_1);
    liana_tensor divisor = liana_op_multiply(correction, liana_op_add(u, liana__optimizer_scalar(u, options->epsilon)));
    step->new_slots[0] = m;
    step->new_slots[1] = u;
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(step->learning_rate, m), divisor));
}

const liana__optimizer liana__optimizer_Adamax = {
    .name = "Adamax",
    .doc = "Steps by the mean gradient, divided by the largest absolute gradient, which decays.",
    .options = &options_table,
    .default_learning_rate = 1e-3,
    .slot_names = {"m", "u"},
    .update = update,
};
