#include "optimizers/schedule.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

const liana__schedule *const liana__schedules[] = {
#define LIANA__SCHEDULE(stem, name) &liana__schedule_##name,
#include "optimizers/schedules.def"
#undef LIANA__SCHEDULE
    NULL,
};

enum { NUM_SCHEDULES = sizeof liana__schedules / sizeof *liana__schedules - 1 };

const liana__schedule *liana__schedule_find(const char *name, const char **nearest)
{
    const char *names[NUM_SCHEDULES];
    for (int i = 0; i < NUM_SCHEDULES; i++) {
        names[i] = liana__schedules[i]->name;
        if (strcasecmp(name, names[i]) == 0) return liana__schedules[i];
    }
    *nearest = liana__nearest(name, names, NUM_SCHEDULES);
    return NULL;
}

/* Whole where only rounding stands between (0.7 epochs of 10 updates are 7 updates, not 7.000000000000001): a staircase
 * must fall at the update that was meant. */
static double length_in_updates(double steps, double epochs, int64_t steps_per_epoch)
{
    double length = steps + epochs * (double)steps_per_epoch, whole = round(length);
    return fabs(length - whole) <= 1e-12 * whole ? whole : length;
}

double liana__learning_rate_at(const liana__learning_rate *rate, int64_t step)
{
    const liana__schedule_common *common = rate->options;
    double initial = common->initial_learning_rate > 0 ? common->initial_learning_rate : rate->default_learning_rate;
    double warmup = length_in_updates(common->warmup_steps, common->warmup_epochs, rate->steps_per_epoch);
    if ((double)step < warmup) {
        return common->warmup_learning_rate + (initial - common->warmup_learning_rate) * (double)step / warmup;
    }
    double decay = length_in_updates(common->decay_steps, common->decay_epochs, rate->steps_per_epoch);
    if (decay <= 0) decay = (double)rate->total_steps - warmup;
    return rate->schedule->rate(rate->options, (double)step - warmup, decay > 1 ? decay : 1, initial);
}
