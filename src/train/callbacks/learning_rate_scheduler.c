/* LearningRateScheduler: a rate for each epoch by hand. Keras's callback of this name calls a function; a program in C
 * does so with a callback of its own and liana_fit_set_rate_factor. */
#include "base/value_read.h"
#include "optimizers/schedule.h"
#include "train/callbacks/callback.h"

typedef struct scheduler_options {
    const liana__value *schedule;
    int64_t verbose;
} scheduler_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(scheduler_options, schedule, VALUE,
                     .doc = "The rates of the epochs, as [0.1, 0.1, 0.01]; the last one is that of all later epochs."),
    LIANA_OPTION_ROW(scheduler_options, verbose, INT, .minimum = 0, .maximum = 2, .doc = "Whether each rate is told."),
};

static liana_status check(liana_check *check)
{
    const scheduler_options *options = check->options;
    const liana__value *rates = options->schedule;
    bool fits = rates && rates->kind == LIANA__VALUE_LIST && rates->count > 0;
    for (size_t i = 0; fits && i < rates->count; i++) {
        fits = liana__value_is_number(rates->items[i]) && rates->items[i]->number > 0 && rates->items[i]->number < 1e30;
    }
    if (fits) return LIANA_OK;
    return liana_option_refuse(check, "schedule", "expected a list of rates above 0, one for each epoch: [0.1, 0.01]");
}

static liana_status epoch_begin(liana_callback_item *item, liana_fit_context *context)
{
    const scheduler_options *options = item->options;
    const liana__training *training = context->training;
    const size_t last = options->schedule->count - 1, epoch = (size_t)(context->epoch - 1);
    const double rate = options->schedule->items[epoch < last ? epoch : last]->number;
    const double scheduled = liana__learning_rate_at(&training->learning_rate, training->state.iteration);
    if (!(scheduled > 0)) {
        return liana__fail(context->error, LIANA_INVALID_CONFIG,
                           "the optimizer's own rate is 0 in epoch %lld, so that no factor makes it %g; leave the "
                           "warm-up out",
                           (long long)context->epoch, rate);
    }
    liana__fit_set_rate_factor(context, rate / scheduled);
    if (options->verbose) liana__note(&context->notes, "the learning rate is %g", rate);
    return LIANA_OK;
}

const liana_callback_type liana__callback_LearningRateScheduler = {
    LIANA_PART(CALLBACK, liana_callback_type, "LearningRateScheduler", "Sets the learning rate of each epoch.",
               LIANA_PART_OPTIONS(scheduler_options, fields), .check = check),
    .on = {[LIANA_ON_EPOCH_BEGIN] = epoch_begin},
};
