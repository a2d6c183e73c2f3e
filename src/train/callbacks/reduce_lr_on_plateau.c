/* ReduceLROnPlateau: a smaller learning rate when a metric no longer gets better. Options and rules are those of
 * Keras's callback of this name (keras.io/api/callbacks/reduce_lr_on_plateau). The rate is the schedule's, times a
 * factor that is part of the training's state. */
#include "train/callbacks/callback.h"

#include <math.h>

typedef struct plateau_options {
    liana__monitor_options watched;
    double factor;
    int64_t patience, verbose;
    int64_t cooldown;
    double min_lr;
} plateau_options;

typedef struct plateau {
    bool began;
    double best; /* NaN: none yet */
    int64_t wait;
    int64_t cooldown; /* epochs that are left of it */
} plateau;

static const liana_option fields[] = {
    LIANA__MONITOR_FIELDS("1.0e-4"),
    LIANA_OPTION_ROW(plateau_options, factor, FLOAT, .default_text = "0.1", .minimum = 1e-6, .maximum = 0.999999,
                     .doc = "The rate is multiplied by this, below 1."),
    LIANA_OPTION_ROW(plateau_options, patience, INT, .default_text = "10", .minimum = 0, .maximum = 1e9,
                     .doc = "Number of epochs without improvement after which the rate is reduced."),
    LIANA_OPTION_ROW(plateau_options, verbose, INT, .default_text = "1", .minimum = 0, .maximum = 2,
                     .doc = "Whether each reduction is told."),
    LIANA_OPTION_ROW(plateau_options, cooldown, INT, .default_text = "0", .minimum = 0, .maximum = 1e9,
                     .doc = "Number of epochs after a reduction that do not count as waiting."),
    LIANA_OPTION_ROW(plateau_options, min_lr, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1e6,
                     .doc = "The rate is not reduced below this."),
};

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const plateau *own = item->self;
    liana__keep_number(state, "best", own->began ? own->best : NAN);
    liana__keep_count(state, "wait", own->wait);
    liana__keep_count(state, "cooldown", own->cooldown);
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    (void)context;
    plateau *own = item->self;
    own->began = liana__kept_number(state, "best", &own->best);
    liana__kept_count(state, "wait", &own->wait);
    liana__kept_count(state, "cooldown", &own->cooldown);
    return LIANA_OK;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    const plateau_options *options = item->options;
    plateau *own = item->self;
    if (!own->began) own->best = NAN;
    own->began = true;
    return liana__monitor_check(&options->watched, context, context->error);
}

static void reduce(const plateau_options *options, plateau *own, liana_fit_context *context)
{
    const double rate = context->learning_rate;
    double reduced = fmax(rate * options->factor, options->min_lr);
    if (!(reduced < rate * (1 - 1e-9))) return; /* the least rate, but for rounding */
    liana__fit_set_rate_factor(context, context->training->state.rate_factor * (reduced / rate));
    if (options->verbose) {
        liana__note(&context->notes,
                    "the learning rate falls from %.6g to %.6g after epoch %lld: %s no longer improves", rate, reduced,
                    (long long)context->epoch, options->watched.monitor);
    }
    own->cooldown = options->cooldown;
    own->wait = 0;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const plateau_options *options = item->options;
    plateau *own = item->self;
    double value;
    bool known;
    LIANA_TRY(liana__fit_metric(context, options->watched.monitor, &value, &known, context->error));
    if (!known) return LIANA_OK;
    if (own->cooldown > 0) {
        own->cooldown--;
        own->wait = 0;
    }
    if (isnan(own->best) || liana__monitor_improves(&options->watched, value, own->best)) {
        own->best = value;
        own->wait = 0;
    } else if (own->cooldown == 0) {
        own->wait++;
        if (own->wait >= options->patience) reduce(options, own, context);
    }
    return LIANA_OK;
}

const liana_callback_type liana__callback_ReduceLROnPlateau = {
    LIANA_PART(CALLBACK, liana_callback_type, "ReduceLROnPlateau",
               "Reduces the learning rate when a metric has not improved for some epochs.",
               LIANA_PART_OPTIONS(plateau_options, fields)),
    .self_size = sizeof(plateau),
    .save = save,
    .load = load,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
