/* When the state of a training is saved. */
#include "base/clock.h"
#include "train/callbacks/standard.h"

typedef struct checkpointing {
    double last; /* when the state was saved, or the training began, in seconds */
} checkpointing;

static liana_status begin(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    (void)context;
    (void)error;
    ((checkpointing *)item->self)->last = liana__clock_seconds();
    return LIANA_OK;
}

static liana_status step_end(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    (void)error;
    const liana__checkpointing_options *options = item->options;
    const checkpointing *own = item->self;
    const int64_t iteration = context->training->state.iteration;
    if (options->every_steps > 0 && iteration % options->every_steps == 0) context->wants_checkpoint = true;
    if (options->every_minutes <= 0) return LIANA_OK;
    bool due = liana__clock_seconds() - own->last >= 60 * options->every_minutes;
    if (liana__fit_clock_decision(context, due)) context->wants_checkpoint = true;
    return LIANA_OK;
}

static liana_status epoch_end(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    (void)error;
    const liana__checkpointing_options *options = item->options;
    if (options->every_epoch) context->wants_checkpoint = true;
    return LIANA_OK;
}

const liana__callback liana__callback_checkpointing = {
    .name = "Checkpointing",
    .doc = "Asks for checkpoints after epochs, updates or minutes.",
    .size = sizeof(checkpointing),
    .on = {[LIANA__ON_TRAIN_BEGIN] = begin,
           [LIANA__ON_STEP_END] = step_end,
           [LIANA__ON_EPOCH_END] = epoch_end,
           [LIANA__ON_CHECKPOINT] = begin},
};
