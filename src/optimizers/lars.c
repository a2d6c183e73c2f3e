/* LARS: You, Gitman and Ginsburg, "Large batch training of convolutional networks" (2017), algorithm 1. Weights that
 * are excluded from weight decay take plain steps with momentum, as is usual for biases and norms. */
#include "optimizers/optimizer.h"

typedef struct lars_options {
    liana_optimizer_common common;
    double momentum;
    double trust_coefficient;
    double epsilon;
    bool nesterov;
} lars_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(lars_options, momentum, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 1,
                     .doc = "The share of the last step that is added to this one."),
    LIANA_OPTION_ROW(lars_options, trust_coefficient, FLOAT, .default_text = "0.001", .minimum = 1e-12, .maximum = 1e6,
                     .doc = "How far a step goes, as a share of the weights' norm."),
    LIANA_OPTION_ROW(lars_options, epsilon, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to the norm that is divided by."),
    LIANA_OPTION_ROW(lars_options, nesterov, BOOL, .default_text = "false",
                     .doc = "Whether to use Nesterov's momentum."),
    LIANA_OPTIMIZER_ROWS("null"),
};

static void terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_square(step->variable);
    terms[1] = liana_op_square(step->gradient);
}

static liana_update_reads reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_VARIABLE, 2, terms}}};
}

/* The learning rate of the variable. */
static liana_tensor local_rate(const liana_optimizer_step *step)
{
    const lars_options *options = step->options;
    if (step->excluded) return step->learning_rate;
    liana_tensor weights = liana_op_sqrt(step->sums[0][0]), gradients = liana_op_sqrt(step->sums[0][1]);
    liana_tensor decay = liana__optimizer_scalar(weights, step->weight_decay);
    liana_tensor whole = liana_op_add(gradients, liana_op_multiply(decay, weights));
    whole = liana_op_add(whole, liana__optimizer_scalar(whole, options->epsilon));
    liana_tensor trusted = liana_op_multiply(liana__optimizer_scalar(weights, options->trust_coefficient), weights);
    return liana_op_multiply(step->learning_rate, liana__optimizer_ratio(trusted, whole));
}

static void update(liana_optimizer_step *step)
{
    const lars_options *options = step->options;
    liana_tensor gradient = step->gradient;
    if (step->weight_decay > 0) {
        liana_tensor decay = liana__optimizer_scalar(gradient, step->weight_decay);
        gradient = liana_op_add(gradient, liana_op_multiply(decay, step->variable));
    }
    liana_tensor scaled = liana_op_multiply(local_rate(step), gradient);
    liana_tensor momentum = liana__optimizer_scalar(gradient, options->momentum);
    liana_tensor velocity = liana_op_add(liana_op_multiply(momentum, step->slots[0]), scaled);
    step->new_slots[0] = velocity;
    if (options->nesterov) velocity = liana_op_add(liana_op_multiply(momentum, velocity), scaled);
    liana__optimizer_descend(step, velocity);
}

const liana_optimizer_type liana__optimizer_LARS = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "LARS",
               "Gradient descent with momentum whose step is a share of the norm of the weights, for large batches.",
               LIANA_PART_OPTIONS(lars_options, fields)),
    .default_learning_rate = 1e-1,
    .slots = {"momentum"},
    .reads = reads,
    .own_weight_decay = true,
    .update = update,
};
