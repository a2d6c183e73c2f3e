/* Adagrad: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization"
 * (2011), in Keras's form: epsilon is added below the root. */
#include "optimizers/optimizer.h"

typedef struct adagrad_options {
    liana__optimizer_common common;
    double initial_accumulator_value;
    double epsilon;
} adagrad_options;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(adagrad_options, initial_accumulator_value, FLOAT, .default_text = "0.1", .minimum = 0,
                     .maximum = 1e6, .doc = "Where the sum of squared gradients begins."),
    LIANA__FIELD_ROW(adagrad_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added below the root, against division by zero."),
    LIANA__OPTIMIZER_FIELDS("null"),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("Adagrad", adagrad_options, fields);

static double begins_at(const void *options, size_t slot)
{
    (void)slot;
    return ((const adagrad_options *)options)->initial_accumulator_value;
}

static void update(liana__optimizer_step *step)
{
    const adagrad_options *options = step->options;
    liana_tensor sum = liana_op_add(step->slots[0], liana_op_square(step->gradient));
    liana_tensor root = liana_op_sqrt(liana_op_add(sum, liana__optimizer_scalar(sum, options->epsilon)));
    step->new_slots[0] = sum;
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(step->learning_rate, step->gradient), root));
}

const liana__optimizer liana__optimizer_Adagrad = {
    .name = "Adagrad",
    .doc = "Steps by the gradient, divided by the root of the sum of all squared gradients.",
    .options = &options_table,
    .default_learning_rate = 1e-3,
    .slot_begins_at = begins_at,
    .slot_names = {"accumulator"},
    .update = update,
};
