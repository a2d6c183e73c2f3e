/* Adam: Kingma and Ba, "Adam: a method for stochastic optimization" (2014), in the form of the paper's section 2 last
 * paragraph, which is Keras's: the bias corrections are folded into the step size and epsilon is added to the
 * uncorrected root. */
#include "optimizers/optimizer.h"

typedef struct adam_options {
    double beta_1;
    double beta_2;
    double epsilon;
} adam_options;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(adam_options, beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the mean of gradients."),
    LIANA__FIELD_ROW(adam_options, beta_2, FLOAT, .default_text = "0.999", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the mean of squared gradients."),
    LIANA__FIELD_ROW(adam_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to the root, against division by zero."),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("Adam", adam_options, fields);

static liana_tensor scalar(liana_tensor like, double value)
{
    return liana_graph_scalar(like.graph, liana_tensor_dtype(like), value);
}

/* decay * old + (1 - decay) * new, written as old + (1 - decay) * (new - old): one rounding less. */
static liana_tensor moving_average(liana_tensor old, liana_tensor value, double decay)
{
    return liana_op_add(old, liana_op_multiply(scalar(old, 1 - decay), liana_op_subtract(value, old)));
}

/* 1 - decay^t */
static liana_tensor correction(liana_tensor iteration, double decay)
{
    return liana_op_subtract(scalar(iteration, 1), liana_op_power(scalar(iteration, decay), iteration));
}

static void update(liana__optimizer_step *step)
{
    const adam_options *options = step->options;
    liana_tensor m = moving_average(step->slots[0], step->gradient, options->beta_1);
    liana_tensor v = moving_average(step->slots[1], liana_op_square(step->gradient), options->beta_2);
    liana_tensor rate = liana_op_multiply(step->learning_rate,
                                          liana_op_divide(liana_op_sqrt(correction(step->iteration, options->beta_2)),
                                                          correction(step->iteration, options->beta_1)));
    liana_tensor root = liana_op_add(liana_op_sqrt(v), scalar(v, options->epsilon));
    step->new_variable = liana_op_subtract(step->variable, liana_op_divide(liana_op_multiply(rate, m), root));
    step->new_slots[0] = m;
    step->new_slots[1] = v;
}

const liana__optimizer liana__optimizer_Adam = {
    .name = "Adam",
    .doc = "Steps by the mean gradient, divided by the root of the mean squared gradient.",
    .options = &options_table,
    .default_learning_rate = 1e-3,
    .slot_names = {"m", "v"},
    .update = update,
};
