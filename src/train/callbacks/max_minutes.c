/* A training that ends after some minutes, counted over all parts of a run, without its pauses. */
#include "base/clock.h"
#include "train/callbacks/standard.h"

typedef struct max_minutes {
    double before;                    /* seconds of earlier parts */
    double begin;                     /* of this one */
    const liana_fit_context *context; /* NULL: it has not begun */
} max_minutes;

static double seconds_of(const max_minutes *own)
{
    const liana_fit_context *context = own->context;
    if (!context) return own->before;
    return own->before + liana__clock_seconds() - own->begin - context->paused_before - context->paused;
}

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    liana__keep_number(state, "seconds", seconds_of(item->self));
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    (void)context;
    max_minutes *own = item->self;
    liana__kept_number(state, "seconds", &own->before);
    return LIANA_OK;
}

static liana_status look(liana_callback_item *item, liana_fit_context *context)
{
    const double minutes = *(const double *)item->options;
    bool over = seconds_of(item->self) >= 60 * minutes;
    if (liana__fit_clock_decision(context, over)) liana__fit_stop(context, "%g minutes are over", minutes);
    return LIANA_OK;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    max_minutes *own = item->self;
    own->begin = liana__clock_seconds();
    own->context = context;
    return look(item, context);
}

const liana_callback_type liana__callback_max_minutes = {
    LIANA_PART(CALLBACK, liana_callback_type, "max_minutes", "Ends the training after some minutes."),
    .self_size = sizeof(max_minutes),
    .save = save,
    .load = load,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_STEP_END] = look},
};
