/* Tells a display how a training goes on. */
#include "train/callbacks/standard.h"

/* A stop depends on a signal or on a display, which only one process has. */
static liana_status report(const liana_callback_item *item, liana_fit_context *context, liana__fit_event_kind kind)
{
    const liana__progress_options *options = item->options;
    liana__fit_requests requests = {0};
    const liana__fit_event event = {.kind = kind,
                                    .epoch = context->epoch,
                                    .epochs = context->epochs,
                                    .step = context->step,
                                    .steps = context->steps,
                                    .global_step = context->training->state.iteration,
                                    .updates = context->updates,
                                    .seconds = context->seconds,
                                    .wait = context->wait,
                                    .images = context->images,
                                    .training = context->totals,
                                    .validation = context->validation,
                                    .learning_rate = context->learning_rate,
                                    .requests = &requests};
    const bool stops = !options->on_event(options->user, &event);
    context->paused += requests.paused;
    /* Nearly always nobody asks for anything: one question is enough. */
    if (!liana__fit_any_decision(context, stops || requests.checkpoint)) return LIANA_OK;
    if (liana__fit_any_decision(context, stops)) liana__fit_interrupt(context);
    if (liana__fit_any_decision(context, requests.checkpoint)) context->wants_checkpoint = true;
    return LIANA_OK;
}

#define REPORT(name, kind)                                                          \
    static liana_status name(liana_callback_item *item, liana_fit_context *context) \
    {                                                                               \
        return report(item, context, kind);                                         \
    }
REPORT(step_end, LIANA__FIT_STEP)
REPORT(validation_step, LIANA__FIT_VALIDATION)
REPORT(epoch_end, LIANA__FIT_EPOCH)
REPORT(saved, LIANA__FIT_CHECKPOINT)
#undef REPORT

const liana_callback_type liana__callback_progress = {
    LIANA_PART(CALLBACK, liana_callback_type, "Progress", "Tells a display what a training does."),
    .on = {[LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_VALIDATION_STEP] = validation_step,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_CHECKPOINT] = saved},
};
