/* Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks": momentum whose matrix is replaced by a
 * near orthogonal one of the same rows and columns. Vectors, embeddings and chosen weights are trained with AdamW. The
 * length of steps is as in Liu et al. 2025, "Muon is scalable for LLM training" (rms_rate). */
#include "optimizers/optimizer.h"

#include <math.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

typedef struct muon_options {
    liana_optimizer_common common;
    double adam_beta_1, adam_beta_2, adam_weight_decay, epsilon;
    liana_strings exclude_layers;
    bool exclude_embeddings, nesterov;
    double muon_a, muon_b, muon_c, adam_lr_ratio, momentum;
    int64_t ns_steps;
    double rms_rate;
} muon_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(muon_options, adam_beta_1, FLOAT, .default_text = "0.9", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Adam's decay of the mean of gradients."),
    LIANA_OPTION_ROW(muon_options, adam_beta_2, FLOAT, .default_text = "0.999", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Adam's decay of the mean of squared gradients."),
    LIANA_OPTION_ROW(muon_options, adam_weight_decay, FLOAT, .default_text = "0.004", .minimum = 0, .maximum = 1,
                     .doc = "weight_decay of the weights that Adam trains; 0: none."),
    LIANA_OPTION_ROW(muon_options, epsilon, FLOAT, .default_text = "1e-7", .minimum = 0, .maximum = 1e3,
                     .doc = "Added to Adam's root, against division by zero."),
    LIANA_OPTION_ROW(muon_options, exclude_layers, STRINGS,
                     .doc = "Weights that Adam trains: those in whose names one of these regular expressions matches."),
    LIANA_OPTION_ROW(muon_options, exclude_embeddings, BOOL, .default_text = "true",
                     .doc = "Whether Adam trains embeddings, too."),
    LIANA_OPTION_ROW(muon_options, muon_a, FLOAT, .default_text = "3.4445",
                     .doc = "Of the iteration a x + b x^3 + c x^5."),
    LIANA_OPTION_ROW(muon_options, muon_b, FLOAT, .default_text = "-4.775", .doc = "The same."),
    LIANA_OPTION_ROW(muon_options, muon_c, FLOAT, .default_text = "2.0315", .doc = "The same."),
    LIANA_OPTION_ROW(muon_options, adam_lr_ratio, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1e6,
                     .doc = "Adam's learning rate over that of Muon."),
    LIANA_OPTION_ROW(muon_options, momentum, FLOAT, .default_text = "0.95", .minimum = 0, .maximum = 0.9999999,
                     .doc = "Decay of the sum of gradients."),
    LIANA_OPTION_ROW(muon_options, ns_steps, INT, .default_text = "5", .minimum = 0, .maximum = 100,
                     .doc = "Steps of Newton's and Schulz's iteration."),
    LIANA_OPTION_ROW(muon_options, nesterov, BOOL, .default_text = "true", .doc = "Whether momentum is Nesterov's."),
    LIANA_OPTION_ROW(muon_options, rms_rate, FLOAT, .default_text = "0.2", .minimum = 0, .maximum = 1e6,
                     .doc = "Steps are multiplied by this and the root of the longer side; 0: they are not."),
    LIANA_OPTIMIZER_ROWS("0.004"),
};

static liana_status check(liana_check *check)
{
    const muon_options *options = check->options;
    for (size_t i = 0; i < options->exclude_layers.count; i++) {
        regex_t compiled;
        if (regcomp(&compiled, options->exclude_layers.items[i], REG_EXTENDED | REG_NOSUB) != 0) {
            return liana_option_refuse(check, "exclude_layers", "found '%.100s', expected a regular expression",
                                       options->exclude_layers.items[i]);
        }
        regfree(&compiled);
    }
    return LIANA_OK;
}

static bool matches(const char *pattern, const char *name)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    const bool found = regexec(&compiled, name, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static bool is_embedding(const char *name)
{
    static const char word[] = "embedding";
    for (; *name; name++) {
        if (strncasecmp(name, word, sizeof word - 1) == 0) return true;
    }
    return false;
}

bool liana__muon_is_adams(const void *given, const char *name, int rank)
{
    const muon_options *options = given;
    if (rank != 2) return true;
    if (options->exclude_embeddings && is_embedding(name)) return true;
    for (size_t i = 0; i < options->exclude_layers.count; i++) {
        if (matches(options->exclude_layers.items[i], name)) return true;
    }
    return false;
}

static liana_update_reads reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.whole = true};
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, liana__optimizer_scalar(x, factor));
}

static void decay(liana_optimizer_step *step, double weight_decay)
{
    if (isnan(weight_decay) || weight_decay == 0 || step->excluded) return;
    liana_tensor share = scaled(step->learning_rate, weight_decay);
    step->variable = liana_op_subtract(step->variable, liana_op_multiply(step->variable, share));
}

static liana_tensor adam(liana_optimizer_step *step, const muon_options *options)
{
    liana_tensor m = liana__optimizer_average(step->slots[0], step->gradient, options->adam_beta_1);
    liana_tensor v = liana__optimizer_average(step->slots[1], liana_op_square(step->gradient), options->adam_beta_2);
    step->new_slots[0] = m;
    step->new_slots[1] = v;
    liana_tensor root = liana_op_sqrt(liana__optimizer_correction(step->iteration, options->adam_beta_2));
    liana_tensor rate = liana_op_divide(root, liana__optimizer_correction(step->iteration, options->adam_beta_1));
    rate = liana_op_multiply(rate, scaled(step->learning_rate, options->adam_lr_ratio));
    liana_tensor below = liana_op_add(liana_op_sqrt(v), liana__optimizer_scalar(v, options->epsilon));
    return liana_op_divide(liana_op_multiply(rate, m), below);
}

/* Newton's and Schulz's iteration, which brings all singular values near 1. */
static liana_tensor orthogonalized(liana_tensor x, const muon_options *options)
{
    const liana_shape shape = liana_tensor_shape(x);
    const bool tall = shape.dims[0] > shape.dims[1];
    liana_tensor norm = liana_op_sqrt(liana_op_reduce_sum(liana_op_square(x), LIANA_ALL_AXES, false));
    x = liana_op_divide(x, liana_op_add(norm, liana__optimizer_scalar(norm, 1e-7)));
    for (int64_t i = 0; i < options->ns_steps; i++) {
        /* Of a tall matrix the products stand on its other side. */
        liana_tensor a = tall ? liana_op_matmul(x, x, true, false) : liana_op_matmul(x, x, false, true);
        liana_tensor b =
            liana_op_add(scaled(a, options->muon_b), scaled(liana_op_matmul(a, a, false, false), options->muon_c));
        liana_tensor product = tall ? liana_op_matmul(x, b, false, false) : liana_op_matmul(b, x, false, false);
        x = liana_op_add(scaled(x, options->muon_a), product);
    }
    return x;
}

static liana_tensor muon(liana_optimizer_step *step, const muon_options *options)
{
    const liana_shape shape = liana_tensor_shape(step->variable);
    liana_tensor m = liana_op_add(step->gradient, scaled(step->slots[0], options->momentum));
    liana_tensor x = options->nesterov ? liana_op_add(step->gradient, scaled(m, options->momentum)) : m;
    step->new_slots[0] = m;
    step->new_slots[1] = scaled(step->slots[1], 1);
    x = liana_op_multiply(step->learning_rate, orthogonalized(x, options));
    if (options->rms_rate == 0) return x;
    const int64_t longer = shape.dims[0] > shape.dims[1] ? shape.dims[0] : shape.dims[1];
    return scaled(x, sqrt((double)longer) * options->rms_rate);
}

static void update(liana_optimizer_step *step)
{
    const muon_options *options = step->options;
    const int rank = liana_tensor_shape(step->variable).rank;
    const bool by_adam = liana__muon_is_adams(options, step->name ? step->name : "", rank);
    decay(step, by_adam ? options->adam_weight_decay : options->common.weight_decay);
    liana__optimizer_descend(step, by_adam ? adam(step, options) : muon(step, options));
}

const liana_optimizer_type liana__optimizer_Muon = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Muon",
               "Steps of matrices by their momentum with all singular values near 1; others by Adam with weight decay.",
               LIANA_PART_OPTIONS(muon_options, fields), .check = check),
    .default_learning_rate = 1e-3,
    .slots = {"momentum", "velocity"},
    .own_weight_decay = true,
    .reads = reads,
    .update = update,
};
