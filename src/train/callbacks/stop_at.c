/* A training that ends at a time of the clock. */
#include "base/clock.h"
#include "train/callbacks/standard.h"

static liana_status look(liana_callback_item *item, liana_fit_context *context)
{
    const time_t moment = (time_t) * (const int64_t *)item->options;
    char shown[64];
    if (!liana__fit_clock_decision(context, time(NULL) >= moment)) return LIANA_OK;
    liana__fit_stop(context, "it is %s", liana__wall_clock_show(moment, shown));
    return LIANA_OK;
}

const liana_callback_type liana__callback_stop_at = {
    LIANA_PART(CALLBACK, liana_callback_type, "stop_at", "Ends the training at a time of the clock."),
    .on = {[LIANA_ON_TRAIN_BEGIN] = look, [LIANA_ON_STEP_END] = look},
};
