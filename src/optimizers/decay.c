/* Learning-rate schedules: the formulas of Keras's classes of the same names (keras.optimizers.schedules). */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct constant_options {
    liana__schedule_common common;
} constant_options;

static const liana__field constant_fields[] = {LIANA__SCHEDULE_FIELDS};

static const liana__fields constant_table = LIANA__FIELD_TABLE("Constant", constant_options, constant_fields);

static double constant_rate(const void *options, double step, double decay_steps, double initial)
{
    (void)options;
    (void)step;
    (void)decay_steps;
    return initial;
}

const liana__schedule liana__schedule_Constant = {
    .name = "Constant",
    .doc = "The same rate for the whole run.",
    .options = &constant_table,
    .endless = true,
    .rate = constant_rate,
};

typedef struct exponential_options {
    liana__schedule_common common;
    double decay_rate;
    bool staircase;
} exponential_options;

static const liana__field exponential_fields[] = {
    LIANA__SCHEDULE_FIELDS,
    LIANA__FIELD_ROW(exponential_options, decay_rate, FLOAT, .default_text = "0.96", .minimum = 1e-12, .maximum = 1,
                     .doc = "The factor of the rate after each decay_steps updates."),
    LIANA__FIELD_ROW(exponential_options, staircase, BOOL, .default_text = "false",
                     .doc = "Whether the rate falls in steps instead of smoothly."),
};
static const liana__fields exponential_table =
    LIANA__FIELD_TABLE("ExponentialDecay", exponential_options, exponential_fields);

static double exponential_rate(const void *options, double step, double decay_steps, double initial)
{
    const exponential_options *own = options;
    double times = step / decay_steps;
    return initial * pow(own->decay_rate, own->staircase ? floor(times) : times);
}

const liana__schedule liana__schedule_ExponentialDecay = {
    .name = "ExponentialDecay",
    .doc = "initial * decay_rate^(step / decay_steps)",
    .options = &exponential_table,
    .rate = exponential_rate,
};

typedef struct inverse_time_options {
    liana__schedule_common common;
    double decay_rate;
    bool staircase;
} inverse_time_options;

static const liana__field inverse_time_fields[] = {
    LIANA__FIELD_ROW(inverse_time_options, decay_rate, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1e12,
                     .doc = "How much the divisor grows in decay_steps updates."),
    LIANA__FIELD_ROW(inverse_time_options, staircase, BOOL, .default_text = "false",
                     .doc = "Whether the rate falls in steps instead of smoothly."),
    LIANA__SCHEDULE_FIELDS,
};
static const liana__fields inverse_time_table =
    LIANA__FIELD_TABLE("InverseTimeDecay", inverse_time_options, inverse_time_fields);

static double inverse_time_rate(const void *options, double step, double decay_steps, double initial)
{
    const inverse_time_options *own = options;
    double times = step / decay_steps;
    return initial / (1 + own->decay_rate * (own->staircase ? floor(times) : times));
}

const liana__schedule liana__schedule_InverseTimeDecay = {
    .name = "InverseTimeDecay",
    .doc = "initial / (1 + decay_rate * step / decay_steps)",
    .options = &inverse_time_table,
    .rate = inverse_time_rate,
};

typedef struct polynomial_options {
    liana__schedule_common common;
    double end_learning_rate;
    double power;
    bool cycle;
} polynomial_options;

static const liana__field polynomial_fields[] = {
    LIANA__SCHEDULE_FIELDS,
    LIANA__FIELD_ROW(polynomial_options, end_learning_rate, FLOAT, .default_text = "1e-4", .minimum = 0, .maximum = 1e6,
                     .doc = "The rate at the end of the decay, and after it."),
    LIANA__FIELD_ROW(polynomial_options, power, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 100,
                     .doc = "1: a straight line."),
    LIANA__FIELD_ROW(polynomial_options, cycle, BOOL, .default_text = "false",
                     .doc = "Whether the decay is stretched to the next multiple of decay_steps instead of stopping."),
};
static const liana__fields polynomial_table =
    LIANA__FIELD_TABLE("PolynomialDecay", polynomial_options, polynomial_fields);

static double polynomial_rate(const void *options, double step, double decay_steps, double initial)
{
    const polynomial_options *own = options;
    if (own->cycle) {
        decay_steps *= step > 0 ? ceil(step / decay_steps) : 1;
    } else if (step > decay_steps) {
        step = decay_steps;
    }
    double end = own->end_learning_rate;
    return (initial - end) * pow(1 - step / decay_steps, own->power) + end;
}

const liana__schedule liana__schedule_PolynomialDecay = {
    .name = "PolynomialDecay",
    .doc = "(initial - end) * (1 - step / decay_steps)^power + end",
    .options = &polynomial_table,
    .rate = polynomial_rate,
};

typedef struct cosine_options {
    liana__schedule_common common;
    double alpha;
} cosine_options;

static const liana__field cosine_fields[] = {
    LIANA__SCHEDULE_FIELDS,
    LIANA__FIELD_ROW(cosine_options, alpha, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The smallest rate, as a share of the initial one."),
};
static const liana__fields cosine_table = LIANA__FIELD_TABLE("CosineDecay", cosine_options, cosine_fields);

/* Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2016), without restarts. */
static double cosine_rate(const void *options, double step, double decay_steps, double initial)
{
    const cosine_options *own = options;
    double done = step < decay_steps ? step / decay_steps : 1;
    return initial * ((1 - own->alpha) * 0.5 * (1 + cos(acos(-1) * done)) + own->alpha);
}

const liana__schedule liana__schedule_CosineDecay = {
    .name = "CosineDecay",
    .doc = "initial * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha)",
    .options = &cosine_table,
    .rate = cosine_rate,
};
