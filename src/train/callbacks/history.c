/* The history of a training: each epoch's results become part of its state. */
#include "train/callbacks/standard.h"

/* The record of an epoch that a training ended in the middle of: that epoch goes on now. */
static liana_status train_begin(liana_callback_item *own, liana_fit_context *context)
{
    (void)own;
    liana__training_state *state = &context->training->state;
    size_t whole = (size_t)(state->epoch - state->history.first_epoch);
    if (state->history.count > whole) state->history.count = whole;
    return LIANA_OK;
}

static liana_status epoch_end(liana_callback_item *own, liana_fit_context *context)
{
    (void)own;
    liana__history *history = &context->training->state.history;
    liana__history_epoch epoch = {.global_step = context->training->state.iteration,
                                  .learning_rate = context->learning_rate,
                                  .gradients = context->training->state.gradients};
    const liana__timing_epoch timing = {context->seconds, context->images, context->wait};
    bool added = liana__history_measure(history, context->totals, &epoch.training, &epoch.training_lists) &&
                 liana__history_measure(history, context->validation, &epoch.validation, &epoch.validation_lists) &&
                 liana__history_add(history, &epoch, &timing);
    return added ? LIANA_OK : liana__fail_memory(context->error, "the history");
}

const liana_callback_type liana__callback_history = {
    LIANA_PART(CALLBACK, liana_callback_type, "History", "Keeps the results of each epoch."),
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
