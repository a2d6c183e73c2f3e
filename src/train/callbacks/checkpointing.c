/* When the state of a training is saved. */
#include "base/clock.h"
#include "train/callbacks/standard.h"

typedef struct checkpointing {
    double last;   /* when the state was saved, or the training began, in seconds */
    double begin;  /* of the time until one is kept for good */
    double before; /* the time of earlier parts of the run */
    bool began;
} checkpointing;

static double seconds_since_kept(const checkpointing *own)
{
    return own->before + (own->began ? liana__clock_seconds() - own->begin : 0);
}

static void keep_time(const liana_callback_item *item, liana_callback_state *state)
{
    liana__keep_number(state, "seconds_since_kept", seconds_since_kept(item->self));
}

static liana_status load_time(liana_callback_item *item, const liana_fit_context *context,
                              const liana_callback_state *state)
{
    (void)context;
    liana__kept_number(state, "seconds_since_kept", &((checkpointing *)item->self)->before);
    return LIANA_OK;
}

static liana_status saved(liana_callback_item *item, liana_fit_context *context)
{
    (void)context;
    ((checkpointing *)item->self)->last = liana__clock_seconds();
    return LIANA_OK;
}

static liana_status begin(liana_callback_item *item, liana_fit_context *context)
{
    checkpointing *own = item->self;
    own->begin = liana__clock_seconds();
    own->began = true;
    return saved(item, context);
}

/* The time of the next one begins when this one is asked for: it is in the state that is saved. */
static void keep_for_good(const liana__checkpointing_options *options, checkpointing *own, liana_fit_context *context)
{
    if (options->keep_every_hours <= 0) return;
    bool due = seconds_since_kept(own) >= 3600 * options->keep_every_hours;
    if (!liana__fit_clock_decision(context, due)) return;
    own->before = 0;
    own->begin = liana__clock_seconds();
    context->training->state.keeps_checkpoint = context->wants_checkpoint = true;
}

static liana_status step_end(liana_callback_item *item, liana_fit_context *context)
{
    const liana__checkpointing_options *options = item->options;
    checkpointing *own = item->self;
    const int64_t iteration = context->training->state.iteration, every = options->every_steps;
    /* Where workers are not in step, the next time that they meet. */
    if (every > 0 && iteration / every > (iteration - context->updates) / every) context->wants_checkpoint = true;
    keep_for_good(options, own, context);
    if (options->every_minutes <= 0) return LIANA_OK;
    bool due = liana__clock_seconds() - own->last >= 60 * options->every_minutes;
    if (liana__fit_clock_decision(context, due)) context->wants_checkpoint = true;
    return LIANA_OK;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const liana__checkpointing_options *options = item->options;
    if (options->every_epoch) context->wants_checkpoint = true;
    return LIANA_OK;
}

const liana_callback_type liana__callback_checkpointing = {
    LIANA_PART(CALLBACK, liana_callback_type, "Checkpointing",
               "Asks for checkpoints after epochs, updates or minutes."),
    .self_size = sizeof(checkpointing),
    .save = keep_time,
    .load = load_time,
    .on = {[LIANA_ON_TRAIN_BEGIN] = begin,
           [LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_CHECKPOINT] = saved},
};
