/* The list of schedules, and the learning rate of an update. */
#include "optimizers/schedule.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static liana_status accept(liana_context *context, liana_part *part)
{
    static const liana_option common[] = {LIANA_SCHEDULE_ROWS};
    const liana_schedule_type *schedule = (const liana_schedule_type *)part;
    LIANA_TRY(liana__part_needs(context, part, schedule->rate || schedule->rate_of_run, "rate"));
    LIANA_TRY(liana__part_needs(context, part, schedule->rate || !schedule->adapt, "rate"));
    /* The first row is that of the rate. The others may be left out, where they mean nothing. */
    return liana__part_needs_rows(context, part, common, 1, "LIANA_SCHEDULE_ROWS");
}

static const liana_part *const list[] = {
#define LIANA__SCHEDULE(stem, name) &liana__schedule_##name.part,
#include "optimizers/schedules.def"
#undef LIANA__SCHEDULE
    NULL,
};

/* Keras takes "adam" for "Adam" too. */
const liana__kind liana__schedule_kind = {.kind = LIANA_PART_SCHEDULE,
                                          .size = sizeof(liana_schedule_type),
                                          .builtin = list,
                                          .accept = accept};

double liana__constant_rate(const void *options, double step, double decay_steps, double initial)
{
    (void)options;
    (void)step;
    (void)decay_steps;
    return initial;
}

/* Rounds to a whole number if only rounding errors are between (0.7 epochs of 10 updates are 7 updates, not
 * 7.000000000000001): a staircase must fall at the intended update. */
double liana__length_in_updates(double steps, double epochs, int64_t steps_per_epoch)
{
    double length = steps + epochs * (double)steps_per_epoch, whole = round(length);
    return fabs(length - whole) <= 1e-12 * whole ? whole : length;
}

double liana__warmup_length(const liana_learning_rate *rate)
{
    const liana_schedule_common *common = rate->options;
    double steps = common->warmup_steps + common->warmup_share * (double)rate->total_steps;
    return liana__length_in_updates(steps, common->warmup_epochs, rate->steps_per_epoch);
}

/* The smallest rate that an update sees as more than 0: it computes in float32, where tiny numbers count as 0. */
static liana_status check_rate(double rate, const liana__value *value, const char *where, double usual,
                               liana__error *error)
{
    if (isnan(rate) || rate >= (double)FLT_MIN) return LIANA_OK;
    char found[128];
    return liana__fail_at(error, &value->place, where,
                          "found %s, which does not change weights in float32; expected a learning rate of at least "
                          "1.2e-38, or nothing for the optimizer's default, %g",
                          liana__value_describe(value, found, sizeof found), usual);
}

static liana_status check_warmup(const liana_schedule_common *options, const liana__value *value, const char *where,
                                 liana__error *error)
{
    const liana__value *share = liana__value_get(value, "warmup_share");
    if (options->warmup_share <= 0 || (options->warmup_steps <= 0 && options->warmup_epochs <= 0)) return LIANA_OK;
    char key[256];
    snprintf(key, sizeof key, "%s.warmup_share", where);
    return liana__fail_at(error, share ? &share->place : &value->place, key,
                          "found beside %s, expected one length of the warm-up; remove one of them",
                          options->warmup_steps > 0 ? "warmup_steps" : "warmup_epochs");
}

liana_status liana__schedule_check(const liana_schedule_common *options, const liana__value *value, const char *where,
                                   double default_learning_rate, liana__error *error)
{
    static const char *const lengths[] = {"decay_steps", "decay_epochs"};
    if (value->kind != LIANA__VALUE_MAP) {
        return check_rate(options->initial_learning_rate, value, where, default_learning_rate, error);
    }
    const liana__value *rate = liana__value_get(value, "initial_learning_rate");
    char key[256];
    snprintf(key, sizeof key, "%s.initial_learning_rate", where);
    if (rate) LIANA_TRY(check_rate(options->initial_learning_rate, rate, key, default_learning_rate, error));
    LIANA_TRY(check_warmup(options, value, where, error));
    if (options->decay_steps > 0 || options->decay_epochs > 0) return LIANA_OK;
    for (size_t i = 0; i < 2; i++) {
        const liana__value *length = liana__value_get(value, lengths[i]);
        if (!length || length->kind == LIANA__VALUE_NULL) continue;
        snprintf(key, sizeof key, "%s.%s", where, lengths[i]);
        return liana__fail_at(error, &length->place, key,
                              "found 0, expected a number above 0; remove the key for a decay to the end of the run");
    }
    return LIANA_OK;
}

/* 0 if there is no such length. */
static double length_or_nothing(double length)
{
    return isnan(length) ? 0 : length;
}

bool liana__learning_rate_has_length(const liana_learning_rate *rate)
{
    const liana_schedule_common *common = rate->options;
    bool given = length_or_nothing(common->decay_steps) > 0 || length_or_nothing(common->decay_epochs) > 0;
    return (given || rate->schedule->endless) && common->warmup_share <= 0;
}

/* The last step at which the rate changed. */
static double last_change(const liana_learning_rate *rate, int64_t step, double warmup)
{
    const liana_schedule_common *common = rate->options;
    if (common->by == LIANA_BY_STEP || rate->steps_per_epoch < 1) return (double)step;
    double begin = (double)(step / rate->steps_per_epoch * rate->steps_per_epoch);
    return begin < warmup ? warmup : begin;
}

static double unscaled_rate(const liana_learning_rate *rate, int64_t step)
{
    const liana_schedule_common *common = rate->options;
    const liana_schedule_type *schedule = rate->schedule;
    bool given = !isnan(common->initial_learning_rate);
    double initial = given ? common->initial_learning_rate : rate->default_learning_rate;
    double warmup = liana__warmup_length(rate);
    if ((double)step < warmup) {
        return common->warmup_learning_rate + (initial - common->warmup_learning_rate) * (double)step / warmup;
    }
    double after = last_change(rate, step, warmup) - warmup;
    if (schedule->rate_of_run) return schedule->rate_of_run(rate, after, initial);
    double decay = liana__length_in_updates(length_or_nothing(common->decay_steps),
                                            length_or_nothing(common->decay_epochs), rate->steps_per_epoch);
    if (decay <= 0) decay = (double)rate->total_steps - warmup;
    return schedule->rate(rate->options, after, decay > 1 ? decay : 1, initial);
}

double liana__learning_rate_at(const liana_learning_rate *rate, int64_t step)
{
    const liana_schedule_common *common = rate->options;
    double scaled = unscaled_rate(rate, step) * common->scale;
    if (common->scale_with_batch == 0 || rate->batch_size == 0) return scaled;
    return scaled * ((double)rate->batch_size / (double)common->scale_with_batch);
}
