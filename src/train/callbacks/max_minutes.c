/* A training that ends after some minutes, counted over all parts of a run. */
#include "base/clock.h"
#include "train/callbacks/standard.h"

typedef struct max_minutes {
    double before; /* seconds of earlier parts */
    double begin;  /* of this one */
    bool began;
} max_minutes;

static double seconds_of(const max_minutes *own)
{
    return own->before + (own->began ? liana__clock_seconds() - own->begin : 0);
}

static void save(const liana__callback_item *item, liana_callback_state *state)
{
    liana__keep_number(state, "seconds", seconds_of(item->self));
}

static liana_status load(liana__callback_item *item, const liana_fit_context *context,
                         const liana_callback_state *state, liana__error *error)
{
    (void)context;
    (void)error;
    max_minutes *own = item->self;
    liana__kept_number(state, "seconds", &own->before);
    return LIANA_OK;
}

static liana_status look(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    (void)error;
    const double minutes = *(const double *)item->options;
    bool over = seconds_of(item->self) >= 60 * minutes;
    if (liana__fit_clock_decision(context, over)) liana__fit_stop(context, "%g minutes are over", minutes);
    return LIANA_OK;
}

static liana_status train_begin(liana__callback_item *item, liana_fit_context *context, liana__error *error)
{
    max_minutes *own = item->self;
    own->begin = liana__clock_seconds();
    own->began = true;
    return look(item, context, error);
}

const liana__callback liana__callback_max_minutes = {
    .name = "max_minutes",
    .doc = "Ends the training after some minutes.",
    .size = sizeof(max_minutes),
    .save = save,
    .load = load,
    .on = {[LIANA__ON_TRAIN_BEGIN] = train_begin, [LIANA__ON_STEP_END] = look},
};
