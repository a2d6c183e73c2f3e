/* LAMB: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes" (2019), in Keras's form:
 * weight decay is the one that every optimizer has. */
#include "optimizers/optimizer.h"

static const liana_option fields[] = {LIANA__MOMENTS_ROWS, LIANA_OPTIMIZER_ROWS("null")};

/* Adam's step before it is scaled. */
typedef struct adam_step {
    liana_tensor m, v, step;
} adam_step;

static adam_step adam_step_of(const liana_optimizer_step *step)
{
    const liana__moments_options *options = step->options;
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, options->beta_1);
    liana_tensor v = liana__optimizer_average(step->slots[1], liana_op_square(step->gradient), options->beta_2);
    liana_tensor mean = liana_op_divide(m, liana__optimizer_correction(step->iteration, options->beta_1));
    liana_tensor root =
        liana_op_sqrt(liana_op_divide(v, liana__optimizer_correction(step->iteration, options->beta_2)));
    return (adam_step){m, v,
                       liana_op_divide(mean, liana_op_add(root, liana__optimizer_scalar(root, options->epsilon)))};
}

static void terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_square(step->variable);
    terms[1] = liana_op_square(adam_step_of(step).step);
}

static liana_update_reads reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_VARIABLE, 2, terms}}};
}

static void update(liana_optimizer_step *step)
{
    adam_step own = adam_step_of(step);
    step->new_slots[0] = own.m;
    step->new_slots[1] = own.v;
    liana_tensor ratio = liana__optimizer_ratio(liana_op_sqrt(step->sums[0][0]), liana_op_sqrt(step->sums[0][1]));
    liana_tensor rate = liana_op_multiply(ratio, step->learning_rate);
    liana__optimizer_descend(step, liana_op_multiply(rate, own.step));
}

const liana_optimizer_type liana__optimizer_Lamb = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Lamb",
               "Adam whose step has the norm of the weights that it changes, for large batches.",
               LIANA_PART_OPTIONS(liana__moments_options, fields)),
    .default_learning_rate = 1e-3,
    .slots = {"m", "v"},
    .reads = reads,
    .update = update,
};
