/* The best checkpoint of a training, as a metric says: it is saved, named in the state, and kept. */
#include "train/callbacks/standard.h"
#include "train/checkpoint/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct best_checkpoint {
    bool began;
    double best; /* NaN: none yet */
    char name[LIANA__CHECKPOINT_NAME];
} best_checkpoint;

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const best_checkpoint *own = item->self;
    liana__keep_number(state, "best", own->began ? own->best : NAN);
    liana__keep_text(state, "name", own->name);
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    (void)context;
    best_checkpoint *own = item->self;
    const char *name = liana__kept_text(state, "name");
    own->began = liana__kept_number(state, "best", &own->best);
    snprintf(own->name, sizeof own->name, "%s", name ? name : "");
    return LIANA_OK;
}

/* An end in the middle of an epoch may have named one that a longer training does not know yet. */
static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    best_checkpoint *own = item->self;
    liana__training_state *state = &context->training->state;
    if (!own->began) own->best = NAN;
    own->began = true;
    memcpy(state->best_checkpoint, own->name, sizeof state->best_checkpoint);
    return liana__monitor_check(item->options, context, context->error);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const liana__monitor_options *options = item->options;
    best_checkpoint *own = item->self;
    liana__training_state *state = &context->training->state;
    double value;
    bool known;
    LIANA_TRY(liana__fit_metric(context, options->monitor, &value, &known, context->error));
    if (!known || isnan(value)) return LIANA_OK;
    if (!isnan(own->best) && !liana__monitor_improves(options, value, own->best)) return LIANA_OK;
    own->best = value;
    liana__checkpoint_name(state, own->name);
    memcpy(state->best_checkpoint, own->name, sizeof state->best_checkpoint);
    context->is_best = context->wants_checkpoint = true;
    return LIANA_OK;
}

const liana_callback_type liana__callback_best_checkpoint = {
    LIANA_PART(CALLBACK, liana_callback_type, "best_checkpoint", "Saves and keeps the best checkpoint."),
    .self_size = sizeof(best_checkpoint),
    .save = save,
    .load = load,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
