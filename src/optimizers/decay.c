/* Learning-rate schedules: the formulas of Keras's classes of the same names (keras.optimizers.schedules). */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct constant_options {
    liana_schedule_common common;
} constant_options;

static const liana_option constant_fields[] = {LIANA_SCHEDULE_ROWS};

const liana_schedule_type liana__schedule_Constant = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Constant", "The same rate for the whole run.",
               LIANA_PART_OPTIONS(constant_options, constant_fields)),
    .endless = true,
    .rate = liana__constant_rate,
};

typedef struct stair_options {
    liana_schedule_common common;
    double decay_rate;
    bool staircase;
} stair_options;

#define STAIRCASE_ROW                                                         \
    LIANA_OPTION_ROW(stair_options, staircase, BOOL, .default_text = "false", \
                     .doc = "Whether the rate falls in steps instead of smoothly.")

/* How often the rate has decayed, with a fraction unless it falls in steps. */
static double times_of(const stair_options *own, double step, double decay_steps)
{
    return own->staircase ? floor(step / decay_steps) : step / decay_steps;
}

static const liana_option exponential_fields[] = {
    LIANA_SCHEDULE_ROWS,
    LIANA_OPTION_ROW(stair_options, decay_rate, FLOAT, .default_text = "0.96", .minimum = 1e-12, .maximum = 1,
                     .doc = "The factor of the rate after each decay_steps updates."),
    STAIRCASE_ROW,
};

static double exponential_rate(const void *options, double step, double decay_steps, double initial)
{
    const stair_options *own = options;
    return initial * pow(own->decay_rate, times_of(own, step, decay_steps));
}

const liana_schedule_type liana__schedule_ExponentialDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "ExponentialDecay", "initial * decay_rate^(step / decay_steps)",
               LIANA_PART_OPTIONS(stair_options, exponential_fields)),
    .rate = exponential_rate,
};

static const liana_option inverse_time_fields[] = {
    LIANA_OPTION_ROW(stair_options, decay_rate, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1e12,
                     .doc = "How much the divisor grows in decay_steps updates."),
    STAIRCASE_ROW,
    LIANA_SCHEDULE_ROWS,
};

static double inverse_time_rate(const void *options, double step, double decay_steps, double initial)
{
    const stair_options *own = options;
    return initial / (1 + own->decay_rate * times_of(own, step, decay_steps));
}

const liana_schedule_type liana__schedule_InverseTimeDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "InverseTimeDecay", "initial / (1 + decay_rate * step / decay_steps)",
               LIANA_PART_OPTIONS(stair_options, inverse_time_fields)),
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
