/* RMSprop: Hinton, lecture 6e of "Neural networks for machine learning" (2012), in Keras's form: epsilon is added below
 * the root. Centred: Graves, "Generating sequences with recurrent neural networks" (2013). */
#include "optimizers/optimizer.h"

typedef struct rmsprop_options {
    liana_optimizer_common common;
    double rho;
    double momentum;
    double epsilon;
    bool centered;
} rmsprop_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(rmsprop_options, rho, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 1,
                     .doc = "Decay of the mean of squared gradients."),
    LIANA_OPTION_ROW(rmsprop_options, momentum, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The share of the last step that is added to this one."),
    LIANA_OPTION_ROW(rmsprop_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added below the root, against division by zero."),
    LIANA_OPTION_ROW(rmsprop_options, centered, BOOL, .default_text = "false",
                     .doc = "Whether to divide by the root of the gradient's variance instead of its mean square."),
    LIANA_OPTIMIZER_ROWS("null"),
};

/* "velocity", then "average_gradient" and "momentum" as far as they are needed. */
static size_t momentum_slot(const rmsprop_options *options)
{
    return options->centered ? 2 : 1;
}

static size_t num_slots(const void *options)
{
    const rmsprop_options *own = options;
    return momentum_slot(own) + (own->momentum > 0);
}

static const char *slot_name(const void *options, size_t slot)
{
    if (slot == 0) return "velocity";
    return slot == momentum_slot(options) ? "momentum" : "average_gradient";
}

static liana_tensor mean(liana_tensor old, liana_tensor value, double rho)
{
    liana_tensor kept = liana_op_multiply(liana__optimizer_scalar(old, rho), old);
    return liana_op_add(kept, liana_op_multiply(liana__optimizer_scalar(old, 1 - rho), value));
}

static void update(liana_optimizer_step *step)
{
    const rmsprop_options *options = step->options;
    liana_tensor velocity = mean(step->slots[0], liana_op_square(step->gradient), options->rho);
    liana_tensor spread = velocity;
    step->new_slots[0] = velocity;
    if (options->centered) {
        liana_tensor average = mean(step->slots[1], step->gradient, options->rho);
        step->new_slots[1] = average;
        spread = liana_op_subtract(velocity, liana_op_square(average));
    }
    liana_tensor root = liana_op_sqrt(liana_op_add(spread, liana__optimizer_scalar(spread, options->epsilon)));
    liana_tensor descent = liana_op_divide(liana_op_multiply(step->learning_rate, step->gradient), root);
    if (options->momentum > 0) {
        const size_t slot = momentum_slot(options);
        liana_tensor share = liana__optimizer_scalar(descent, options->momentum);
        descent = liana_op_add(liana_op_multiply(share, step->slots[slot]), descent);
        step->new_slots[slot] = descent;
    }
    liana__optimizer_descend(step, descent);
}

const liana_optimizer_type liana__optimizer_RMSprop = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "RMSprop",
               "Steps by the gradient, divided by the root of the mean squared gradient.",
               LIANA_PART_OPTIONS(rmsprop_options, fields)),
    .default_learning_rate = 1e-3,
    .num_slots = num_slots,
    .slot_name = slot_name,
    .update = update,
};
