/* Baydin et al., "Online learning rate adaptation with hypergradient descent" (2018): the rate follows the gradient of
 * the loss by the rate. That is minus the product of the gradient with the direction of the update before it. Additive
 * is the paper's equation 5 (SGD-HD, Adam-HD), multiplicative its equation 8. */
#include "optimizers/update_rule.h"

#include <math.h>

typedef struct hypergradient_options {
    liana_schedule_common common;
    int rule;
    double hypergradient_learning_rate;
    double minimum_learning_rate;
    double maximum_learning_rate;
} hypergradient_options;

enum { MULTIPLICATIVE, ADDITIVE };
static const char *const rules[] = {"multiplicative", "additive", NULL};
static const double USUAL_RATES[] = {0.02, 1e-7};

static const liana_option fields[] = {
    LIANA_OPTION_ROW(hypergradient_options, rule, ENUM, .default_text = "multiplicative", .names = rules,
                     .doc =
                         "Whether the rate changes by a share of it (by the angle between gradient and last step), or "
                         "by a product that depends on the model's scale."),
    LIANA_OPTION_ROW(hypergradient_options, hypergradient_learning_rate, FLOAT, .default_text = "null", .minimum = 0,
                     .maximum = 1e6,
                     .doc = "How fast the rate changes, the paper's beta; default: 0.02, or 1e-7 if additive."),
    LIANA_OPTION_ROW(hypergradient_options, minimum_learning_rate, FLOAT, .default_text = "1.0e-8", .minimum = 1e-20,
                     .maximum = 1e6, .doc = "The smallest rate."),
    LIANA_OPTION_ROW(hypergradient_options, maximum_learning_rate, FLOAT, .default_text = "1.0e3", .minimum = 1e-20,
                     .maximum = 1e6, .doc = "The largest rate."),
    LIANA_OPTION_ROW(liana_schedule_common, initial_learning_rate, FLOAT, .default_text = "null", .minimum = 0,
                     .maximum = 1e38, .doc = "The rate of the first two updates; default: the optimizer's."),
    LIANA_OPTION_ROW(liana_schedule_common, scale, FLOAT, .default_text = "1.0", .minimum = 1e-12, .maximum = 1e12,
                     .doc = "A factor of the first rate."),
    LIANA_OPTION_ROW(liana_schedule_common, scale_with_batch, INT, .default_text = "0", .minimum = 0, .maximum = 1e9,
                     .doc = "The batch size that the first rate is for; it is multiplied by batch_size / this. 0: it "
                            "is not."),
};

/* A NaN stays one: the weights show it. */
static double adapt(const void *options, double rate, const float *sums)
{
    const hypergradient_options *own = options;
    double speed = own->hypergradient_learning_rate, product = (double)sums[LIANA_RATE_PRODUCT];
    if (isnan(speed)) speed = USUAL_RATES[own->rule];
    if (own->rule == ADDITIVE) {
        rate += speed * product;
    } else {
        double norms = sqrt((double)sums[LIANA_RATE_GRADIENT]) * sqrt((double)sums[LIANA_RATE_DIRECTION]);
        if (norms != 0) rate *= 1 + speed * product / norms;
    }
    if (rate < own->minimum_learning_rate) return own->minimum_learning_rate;
    return rate > own->maximum_learning_rate ? own->maximum_learning_rate : rate;
}

static liana_status refuse(liana_check *check, const char *option)
{
    const hypergradient_options *own = check->options;
    return liana_option_refuse(
        check, option,
        "found the rates %g (first), %g (minimum) and %g (maximum), expected a minimum below the "
        "maximum, and the first rate between them",
        own->common.initial_learning_rate, own->minimum_learning_rate, own->maximum_learning_rate);
}

static liana_status check(liana_check *check)
{
    const hypergradient_options *own = check->options;
    const double first = own->common.initial_learning_rate, least = own->minimum_learning_rate,
                 most = own->maximum_learning_rate;
    if (least >= most) {
        bool given = liana__value_get(check->map, "minimum_learning_rate") != NULL;
        return refuse(check, given ? "minimum_learning_rate" : "maximum_learning_rate");
    }
    return first < least || first > most ? refuse(check, "initial_learning_rate") : LIANA_OK;
}

const liana_schedule_type liana__schedule_Hypergradient = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Hypergradient",
               "A rate that follows the training: it rises while steps go on in one direction",
               LIANA_PART_OPTIONS(hypergradient_options, fields), .check = check),
    .rate = liana__constant_rate,
    .adapt = adapt,
    .endless = true,
};
