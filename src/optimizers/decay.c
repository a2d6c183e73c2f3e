/* Learning-rate schedules: the formulas of Keras's classes of the same names (keras.optimizers.schedules). */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct constant_options {
    liana_schedule_common common;
} constant_options;

static const liana_option constant_fields[] = {LIANA_SCHEDULE_ROWS};

static double constant_rate(const void *options, double step, double decay_steps, double initial)
{
    (void)options;
    (void)step;
    (void)decay_steps;
    return initial;
}

const liana_schedule_type liana__schedule_Constant = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Constant", "The same rate for the whole run.",
               LIANA_PART_OPTIONS(constant_options, constant_fields)),
    .endless = true,
    .rate = constant_rate,
};

typedef struct exponential_options {
    liana_schedule_common common;
    double decay_rate;
    bool staircase;
} exponential_options;

static const liana_option exponential_fields[] = {
    LIANA_SCHEDULE_ROWS,
    LIANA_OPTION_ROW(exponential_options, decay_rate, FLOAT, .default_text = "0.96", .minimum = 1e-12, .maximum = 1,
                     .doc = "The factor of the rate after each decay_steps updates."),
    LIANA_OPTION_ROW(exponential_options, staircase, BOOL, .default_text = "false",
                     .doc = "Whether the rate falls in steps instead of smoothly."),
};

static double exponential_rate(const void *options, double step, double decay_steps, double initial)
{
    const exponential_options *own = options;
    double times = step / decay_steps;
    return initial * pow(own->decay_rate, own->staircase ? floor(times) : times);
}

const liana_schedule_type liana__schedule_ExponentialDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "ExponentialDecay", "initial * decay_rate^(step / decay_steps)",
               LIANA_PART_OPTIONS(exponential_options, exponential_fields)),
    .rate = exponential_rate,
};

typedef struct inverse_time_options {
    liana_schedule_common common;
    double decay_rate;
    bool staircase;
} inverse_time_options;

static const liana_option inverse_time_fields[] = {
    LIANA_OPTION_ROW(inverse_time_options, decay_rate, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1e12,
                     .doc = "How much the divisor grows in decay_steps updates."),
    LIANA_OPTION_ROW(inverse_time_options, staircase, BOOL, .default_text = "false",
                     .doc = "Whether the rate falls in steps instead of smoothly."),
    LIANA_SCHEDULE_ROWS,
};

static double inverse_time_rate(const void *options, double step, double decay_steps, double initial)
{
    const inverse_time_options *own = options;
    double times = step / decay_steps;
    return initial / (1 + own->decay_rate * (own->staircase ? floor(times) : times));
}

const liana_schedule_type liana__schedule_InverseTimeDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "InverseTimeDecay", "initial / (1 + decay_rate * step / decay_steps)",
               LIANA_PART_OPTIONS(inverse_time_options, inverse_time_fields)),
    .rate = inverse_time_rate,
};

typedef struct polynomial_options {
    liana_schedule_common common;
    double end_learning_rate;
    double power;
    bool cycle;
} polynomial_options;

static const liana_option polynomial_fields[] = {
    LIANA_SCHEDULE_ROWS,
    LIANA_OPTION_ROW(polynomial_options, end_learning_rate, FLOAT, .default_text = "1e-4", .minimum = 0, .maximum = 1e6,
                     .doc = "The rate at the end of the decay, and after it."),
    LIANA_OPTION_ROW(polynomial_options, power, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 100,
                     .doc = "1: a straight line."),
    LIANA_OPTION_ROW(polynomial_options, cycle, BOOL, .default_text = "false",
                     .doc = "Whether the decay is stretched to the next multiple of decay_steps instead of stopping."),
};

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

const liana_schedule_type liana__schedule_PolynomialDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "PolynomialDecay",
               "(initial - end) * (1 - step / decay_steps)^power + end",
               LIANA_PART_OPTIONS(polynomial_options, polynomial_fields)),
    .rate = polynomial_rate,
};

typedef struct cosine_options {
    liana_schedule_common common;
    double alpha;
} cosine_options;

static const liana_option cosine_fields[] = {
    LIANA_SCHEDULE_ROWS,
    LIANA_OPTION_ROW(cosine_options, alpha, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The smallest rate, as a share of the initial one."),
};

/* Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2016), without restarts. */
static double cosine_rate(const void *options, double step, double decay_steps, double initial)
{
    const cosine_options *own = options;
    double done = step < decay_steps ? step / decay_steps : 1;
    return initial * ((1 - own->alpha) * 0.5 * (1 + cos(acos(-1) * done)) + own->alpha);
}

const liana_schedule_type liana__schedule_CosineDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "CosineDecay",
               "initial * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha)",
               LIANA_PART_OPTIONS(cosine_options, cosine_fields)),
    .rate = cosine_rate,
};
