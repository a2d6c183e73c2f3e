/* Smith 2017, "Cyclical learning rates for training neural networks": the rate goes up and down between two bounds. */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct cyclic_options {
    liana_schedule_common common;
    double maximal_learning_rate, step_size, gamma;
    int mode;
} cyclic_options;

enum { TRIANGULAR, TRIANGULAR2, EXP_RANGE };
static const char *const modes[] = {"triangular", "triangular2", "exp_range", NULL};

static const liana_option fields[] = {
    LIANA_OPTION_ROW(cyclic_options, maximal_learning_rate, FLOAT, .required = true, .minimum = 0, .maximum = 1e38,
                     .doc = "The upper bound; initial_learning_rate is the lower one."),
    LIANA_OPTION_ROW(cyclic_options, step_size, FLOAT, .default_text = "2000.0", .minimum = 1e-3, .maximum = 1e12,
                     .doc = "Updates from one bound to the other: half a cycle."),
    LIANA_OPTION_ROW(cyclic_options, mode, ENUM, .default_text = "triangular", .names = modes,
                     .doc =
                         "triangular: each cycle alike; triangular2: each half as high as the one before; exp_range: "
                         "the height falls by gamma in each update."),
    LIANA_OPTION_ROW(cyclic_options, gamma, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1,
                     .doc = "With exp_range, the factor of each update."),
    LIANA_SCHEDULE_RATE_ROWS,
};

static double rate(const void *options, double step, double decay_steps, double initial)
{
    const cyclic_options *own = options;
    (void)decay_steps;
    const double cycle = floor(1 + step / (2 * own->step_size));
    const double place = fabs(step / own->step_size - 2 * cycle + 1);
    double height = own->maximal_learning_rate - initial;
    if (own->mode == TRIANGULAR2) height /= pow(2, cycle - 1);
    if (own->mode == EXP_RANGE) height *= pow(own->gamma, step);
    return initial + height * fmax(0, 1 - place);
}

const liana_schedule_type liana__schedule_Cyclic = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Cyclic", "Up and down between two bounds, again and again",
               .aliases = {"CyclicalLearningRate"}, LIANA_PART_OPTIONS(cyclic_options, fields)),
    .rate = rate,
    .endless = true,
};
