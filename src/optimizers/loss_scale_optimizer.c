/* Micikevicius et al. 2018, "Mixed precision training": the loss is multiplied by a scale, so that small gradients are
 * not lost in a narrow type. An update whose scaled gradients are not finite is skipped, and the scale is halved; after
 * so many updates it is doubled. Gradients here are float32 or bfloat16, which have the same range. So the update takes
 * them without the scale, and only asks whether they would be finite with it (update_rule.c). */
#include "optimizers/optimizer.h"

static const liana_option fields[] = {
    LIANA_OPTION_ROW(liana__loss_scale_options, inner_optimizer, VALUE, .required = true,
                     .doc = "The optimizer that updates: {name: Adam, ...}."),
    LIANA_OPTION_ROW(liana__loss_scale_options, initial_scale, FLOAT, .default_text = "32768", .minimum = 1e-30,
                     .maximum = 1e38, .doc = "The first scale of the loss."),
    LIANA_OPTION_ROW(liana__loss_scale_options, dynamic_growth_steps, INT, .default_text = "2000", .minimum = 1,
                     .maximum = 16777216, .doc = "After so many updates with finite gradients the scale is doubled."),
};

const liana__loss_scale_options *liana__as_loss_scale(const liana_optimizer_type *optimizer, const void *options)
{
    return optimizer == &liana__optimizer_LossScaleOptimizer ? options : NULL;
}

/* The rule has taken its place (liana__rule_of). */
static void update(liana_optimizer_step *step)
{
    step->new_variable = step->variable;
}

const liana_optimizer_type liana__optimizer_LossScaleOptimizer = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "LossScaleOptimizer",
               "Another optimizer, without the updates whose gradients, times a scale that follows them, are not "
               "finite.",
               LIANA_PART_OPTIONS(liana__loss_scale_options, fields)),
    .default_learning_rate = 1e-3,
    .update = update,
};
