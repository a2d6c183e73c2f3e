/* Adadelta: Zeiler, "ADADELTA: an adaptive learning rate method" (2012). */
#include "optimizers/optimizer.h"

typedef struct adadelta_options {
    liana_optimizer_common common;
    double rho;
    double epsilon;
} adadelta_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(adadelta_options, rho, FLOAT, .default_text = "0.95", .minimum = 0, .maximum = 1,
                     .doc = "Decay of the means of squared gradients and squared steps."),
    LIANA_OPTION_ROW(adadelta_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 1e-30, .maximum = 1e3,
                     .doc = "Added below both roots; the first steps come from it."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static liana_tensor mean_square(liana_tensor old, liana_tensor value, double rho)
{
    liana_tensor kept = liana_op_multiply(liana__optimizer_scalar(old, rho), old);
    return liana_op_add(kept, liana_op_multiply(liana__optimizer_scalar(old, 1 - rho), liana_op_square(value)));
}

static liana_tensor root(liana_tensor x, double epsilon)
{
    return liana_op_sqrt(liana_op_add(x, liana__optimizer_scalar(x, epsilon)));
}

static void update(liana_optimizer_step *step)
{
    const adadelta_options *options = step->options;
    const double epsilon = options->epsilon;
    liana_tensor gradients = mean_square(step->slots[0], step->gradient, options->rho);
    liana_tensor scaled = liana_op_multiply(root(step->slots[1], epsilon), step->gradient);
    liana_tensor taken = liana_op_divide(scaled, root(gradients, epsilon));
    step->new_slots[0] = gradients;
    step->new_slots[1] = mean_square(step->slots[1], taken, options->rho);
    liana__optimizer_descend(step, liana_op_multiply(step->learning_rate, taken));
}

const liana_optimizer_type liana__optimizer_Adadelta = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Adadelta",
               "Steps by the gradient times the root mean square of steps over that of gradients.",
               LIANA_PART_OPTIONS(adadelta_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"accumulated_grad", "accumulated_delta_var"},
    .update = update,
};
