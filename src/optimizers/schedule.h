/* schedule.h - learning-rate schedules, which are liana_schedule_type of <liana/parts.h>. To add one:
 * src/optimizers/<stem>.c with the struct, and a row in schedules.def. */
#ifndef LIANA_OPTIMIZERS_SCHEDULE_H
#define LIANA_OPTIMIZERS_SCHEDULE_H

#include "base/part.h"

#define LIANA__SCHEDULE(stem, name) extern const liana_schedule_type liana__schedule_##name;
#include "optimizers/schedules.def"
#undef LIANA__SCHEDULE

/* The kind: its list has all schedules in the order of schedules.def. */
extern const liana__kind liana__schedule_kind;

/* Checks the options of a schedule together. `value` is the value that they were read from: a map, or a number, the
 * initial rate. `where` is its dotted key. Errors: INVALID_CONFIG. */
liana_status liana__schedule_check(const liana_schedule_common *options, const liana__value *value, const char *where,
                                   double default_learning_rate, liana__error *error) LIANA_MUST_USE;

/* A `rate` of schedules that do not change it. */
double liana__constant_rate(const void *options, double step, double decay_steps, double initial);

/* Updates: `steps` and `epochs` of the run together. Rounded to a whole number where only rounding errors are
 * between. */
double liana__length_in_updates(double steps, double epochs, int64_t steps_per_epoch);

/* The length of the warm-up in updates; may have a fraction. */
double liana__warmup_length(const liana_learning_rate *rate);

/* Whether the rate of each update is known without the length of the run. */
bool liana__learning_rate_has_length(const liana_learning_rate *rate);

/* The learning rate of update `step`, counted from 0. Of a schedule that follows the training: the first one. */
double liana__learning_rate_at(const liana_learning_rate *rate, int64_t step);

#endif
