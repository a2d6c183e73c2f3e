/* Adam: Kingma and Ba, "Adam: a method for stochastic optimization" (2014), in the form of the paper's section 2 last
 * paragraph, which is Keras's: the bias corrections are folded into the step size and epsilon is added to the
 * uncorrected root. AMSGrad: Reddi et al., "On the convergence of Adam and beyond" (2018). AdamW: Loshchilov and
 * Hutter, "Decoupled weight decay regularization" (2019), which is Adam with the weight decay that every optimizer
 * has, on from the start. */
#include "optimizers/optimizer.h"

typedef struct adam_options {
    liana__moments_options moments;
    bool amsgrad;
} adam_options;

#define ADAM_ROWS                                                              \
    LIANA__MOMENTS_ROWS,                                                       \
        LIANA_OPTION_ROW(adam_options, amsgrad, BOOL, .default_text = "false", \
                         .doc = "Whether to divide by the largest mean of squared gradients so far (AMSGrad).")

static const liana_option adam_fields[] = {ADAM_ROWS, LIANA_OPTIMIZER_ROWS("null")};
static const liana_option adamw_fields[] = {ADAM_ROWS, LIANA_OPTIMIZER_ROWS("0.004")};

static size_t num_slots(const void *options)
{
    return ((const adam_options *)options)->amsgrad ? 3 : 2;
}

static void update(liana_optimizer_step *step)
{
    const adam_options *own = step->options;
    const liana__moments_options *options = &own->moments;
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, options->beta_1);
    liana_tensor v = liana__optimizer_average(step->slots[1], liana_op_square(step->gradient), options->beta_2);
    step->new_slots[0] = m;
    step->new_slots[1] = v;
    if (own->amsgrad) v = step->new_slots[2] = liana_op_maximum(step->slots[2], v);
    liana_tensor root_of_correction = liana_op_sqrt(liana__optimizer_correction(step->iteration, options->beta_2));
    liana_tensor correction = liana__optimizer_correction(step->iteration, options->beta_1);
    liana_tensor rate = liana_op_multiply(step->learning_rate, liana_op_divide(root_of_correction, correction));
    liana_tensor root = liana_op_add(liana_op_sqrt(v), liana__optimizer_scalar(v, options->epsilon));
    liana__optimizer_descend(step, liana_op_divide(liana_op_multiply(rate, m), root));
}

#define ADAM(name, fields, doc)                                                                            \
    const liana_optimizer_type liana__optimizer_##name = {                                                 \
        LIANA_PART(OPTIMIZER, liana_optimizer_type, #name, doc, LIANA_PART_OPTIONS(adam_options, fields)), \
        .default_learning_rate = 1e-3,                                                                     \
        .num_slots = num_slots,                                                                            \
        .slots = {"m", "v", "v_hat"},                                                                      \
        .update = update,                                                                                  \
    };
ADAM(Adam, adam_fields, "Steps by the mean gradient, divided by the root of the mean squared gradient.")
ADAM(AdamW, adamw_fields, "Adam with weight decay.")
