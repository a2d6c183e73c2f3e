/* Adagrad: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization"
 * (2011), in Keras's form: epsilon is added below the root. */
#include "optimizers/optimizer.h"

typedef struct adagrad_options {
    liana_optimizer_common common;
    double initial_accumulator_value;
    double epsilon;
} adagrad_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(adagrad_options, initial_accumulator_value, FLOAT, .default_text = "0.1", .minimum = 0,
                     .maximum = 1e6, .doc = "Where the sum of squared gradients begins."),
    LIANA_OPTION_ROW(adagrad_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added below the root, against division by zero."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static double begins_at(const void *options, size_t slot)
{
    (void)slot;
    return ((const adagrad_options *)options)->initial_accumulator_value;
}

static void update(liana_optimizer_step *step)
{
    const adagrad_options *options = step->options;
    liana_tensor sum = liana_op_add(step->slots[0], liana_op_square(step->gradient));
    liana_tensor root = liana_op_sqrt(liana_op_add(sum, liana__optimizer_scalar(sum, options->epsilon)));
    step->new_slots[0] = sum;
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(step->learning_rate, step->gradient), root));
}

const liana_optimizer_type liana__optimizer_Adagrad = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Adagrad",
               "Steps by the gradient, divided by the root of the sum of all squared gradients.",
               LIANA_PART_OPTIONS(adagrad_options, fields)),
    .default_learning_rate = 1e-3,
    .slot_begins_at = begins_at,
    .slots = {"accumulator"},
    .update = update,
};
