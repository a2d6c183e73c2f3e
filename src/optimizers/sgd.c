/* Gradient descent with (Nesterov) momentum: Sutskever et al., "On the importance of initialization and momentum in
 * deep learning" (2013), in Keras's form: velocity = momentum * velocity - learning_rate * gradient. */
#include "optimizers/optimizer.h"

typedef struct sgd_options {
    liana__optimizer_common common;
    double momentum;
    bool nesterov;
} sgd_options;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(sgd_options, momentum, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The share of the last step that is added to this one."),
    LIANA__FIELD_ROW(
        sgd_options, nesterov, BOOL, .default_text = "false",
        .doc = "Whether to use Nesterov's momentum: the gradient counts as if taken after the momentum step."),
    LIANA__OPTIMIZER_FIELDS("null"),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("SGD", sgd_options, fields);

static size_t num_slots(const void *options)
{
    return ((const sgd_options *)options)->momentum > 0 ? 1 : 0;
}

static void update(liana__optimizer_step *step)
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

const liana__optimizer liana__optimizer_SGD = {
    .name = "SGD",
    .doc = "Steps against the gradient, with momentum if set.",
    .options = &options_table,
    .default_learning_rate = 1e-2,
    .num_slots = num_slots,
    .slot_names = {"momentum"},
    .update = update,
};
