/* Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2016): Keras's CosineDecayRestarts. */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct restarts_options {
    liana_schedule_common common;
    double first_decay_steps;
    double first_decay_epochs;
    double t_mul;
    double m_mul;
    double alpha;
} restarts_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(restarts_options, first_decay_steps, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1e12,
                     .doc = "Length of the first decay in updates."),
    LIANA_OPTION_ROW(restarts_options, first_decay_epochs, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1e9,
                     .doc = "Length of the first decay in epochs, added to first_decay_steps."),
    LIANA_OPTION_ROW(restarts_options, t_mul, FLOAT, .default_text = "2.0", .minimum = 1, .maximum = 1e6,
                     .doc = "How much longer each decay is than the one before."),
    LIANA_OPTION_ROW(restarts_options, m_mul, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1e6,
                     .doc = "The rate after a restart, as a share of that after the one before."),
    LIANA_OPTION_ROW(restarts_options, alpha, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The smallest rate, as a share of the initial one."),
    LIANA_SCHEDULE_RATE_ROWS,
};

static double rate_of_run(const liana_learning_rate *run, double step, double initial)
{
    const restarts_options *own = run->options;
    double length = liana__length_in_updates(own->first_decay_steps, own->first_decay_epochs, run->steps_per_epoch);
    double height = 1;
    if (length < 1) length = 1;
    if (own->t_mul == 1) {
        double restarts = floor(step / length);
        height = pow(own->m_mul, restarts);
        step -= restarts * length;
    } else {
        for (; step >= length; length *= own->t_mul) {
            step -= length;
            height *= own->m_mul;
        }
    }
    double cosine = 0.5 * height * (1 + cos(acos(-1) * step / length));
    return initial * ((1 - own->alpha) * cosine + own->alpha);
}

static liana_status check(liana_check *check)
{
    const restarts_options *own = check->options;
    if (own->first_decay_steps > 0 || own->first_decay_epochs > 0) return LIANA_OK;
    return liana_option_refuse(check, "first_decay_steps",
                               "found no length, expected that of the first decay: first_decay_steps in updates, or "
                               "first_decay_epochs");
}

const liana_schedule_type liana__schedule_CosineDecayRestarts = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "CosineDecayRestarts",
               "CosineDecay again and again, each time t_mul times as long and m_mul times as high",
               LIANA_PART_OPTIONS(restarts_options, fields), .check = check),
    .rate_of_run = rate_of_run,
    .endless = true,
};
