/* A training that ends at a time of the clock. */
#include "base/wall_clock.h"
#include "train/callbacks/standard.h"

static liana_status look(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    (void)error;
    const time_t moment = (time_t) * (const int64_t *)item->options;
    char shown[64];
    if (!liana__fit_clock_decision(context, time(NULL) >= moment)) return LIANA_OK;
    liana__fit_stop(context, "it is %s", liana__wall_clock_show(moment, shown));
    return LIANA_OK;
}

const liana__callback liana__callback_stop_at = {
    .name = "stop_at",
    .doc = "Ends the training at a time of the clock.",
    .on = {[LIANA__ON_TRAIN_BEGIN] = look, [LIANA__ON_STEP_END] = look},
};
