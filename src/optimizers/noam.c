/* Vaswani et al. 2017, "Attention is all you need", section 5.3: model_size^-0.5 min(step^-0.5, step warmup^-1.5). The
 * rise is the warm-up that every schedule has; the rate at its end is model_size^-0.5 warmup^-0.5, unless
 * initial_learning_rate is given. */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct noam_options {
    liana_schedule_common common;
    double model_size;
} noam_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(noam_options, model_size, FLOAT, .default_text = "512.0", .minimum = 1, .maximum = 1e12,
                     .doc = "The width of the model: the rate is in proportion to its root, from above."),
    LIANA_SCHEDULE_RATE_ROWS,
};

static double rate_of_run(const liana_learning_rate *run, double step, double initial)
{
    const double warmup = liana__warmup_length(run), whole = warmup > 1 ? warmup : 1;
    return initial * sqrt(whole / (warmup > 0 ? warmup + step : 1 + step));
}

/* Without a rate of its own, the top of the warm-up is the paper's. */
static liana_status check(liana_check *check)
{
    noam_options *own = check->options;
    liana_schedule_common *common = &own->common;
    if (!isnan(common->initial_learning_rate)) return LIANA_OK;
    if (common->warmup_epochs > 0 || common->warmup_share > 0) {
        return liana_option_refuse(check, common->warmup_epochs > 0 ? "warmup_epochs" : "warmup_share",
                                   "found without initial_learning_rate, expected warmup_steps: the rate follows from "
                                   "their number");
    }
    const double steps = common->warmup_steps > 1 ? common->warmup_steps : 1;
    common->initial_learning_rate = 1 / sqrt(own->model_size * steps);
    return LIANA_OK;
}

const liana_schedule_type liana__schedule_Noam = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Noam", "After the warm-up down with the root of the updates",
               LIANA_PART_OPTIONS(noam_options, fields), .check = check),
    .rate_of_run = rate_of_run,
    .endless = true,
};
