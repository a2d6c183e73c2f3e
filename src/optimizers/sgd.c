/* Gradient descent with (Nesterov) momentum: Sutskever et al., "On the importance of initialization and momentum in
 * deep learning" (2013), in Keras's form: velocity = momentum * velocity - learning_rate * gradient. */
#include "optimizers/optimizer.h"

typedef struct sgd_options {
    liana_optimizer_common common;
    double momentum;
    bool nesterov;
} sgd_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(sgd_options, momentum, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The share of the last step that is added to this one."),
    LIANA_OPTION_ROW(
        sgd_options, nesterov, BOOL, .default_text = "false",
        .doc = "Whether to use Nesterov's momentum: the gradient counts as if taken after the momentum step."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static size_t num_slots(const void *options)
{
    return ((const sgd_options *)options)->momentum > 0 ? 1 : 0;
}

static void update(liana_optimizer_step *step)
{
    const sgd_options *options = step->options;
    liana_tensor descent = liana_op_multiply(step->learning_rate, step->gradient);
    if (options->momentum <= 0) {
        liana__optimizer_descend(step, descent);
        return;
    }
    liana_tensor variable = step->variable;
    liana_tensor momentum = liana_graph_scalar(variable.graph, liana_tensor_dtype(variable), options->momentum);
    liana_tensor velocity = liana_op_subtract(liana_op_multiply(momentum, step->slots[0]), descent);
    liana_tensor change = velocity;
    if (options->nesterov) change = liana_op_subtract(liana_op_multiply(momentum, velocity), descent);
    step->change = change;
    step->new_variable = liana_op_add(variable, change);
    step->new_slots[0] = velocity;
}

const liana_optimizer_type liana__optimizer_SGD = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "SGD", "Steps against the gradient, with momentum if set.",
               LIANA_PART_OPTIONS(sgd_options, fields)),
    .default_learning_rate = 1e-2,
    .num_slots = num_slots,
    .slots = {"momentum"},
    .update = update,
};
