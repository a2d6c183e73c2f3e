/* EarlyStopping: ends a training that no longer gets better. Options and rules are those of Keras's callback of this
 * name (keras.io/api/callbacks/early_stopping). A stage of a training is like a fit of its own in Keras: the callback
 * ends its stage, and begins anew with the next one. */
#include "train/callbacks/callback.h"

#include <math.h>

typedef struct early_stopping_options {
    liana__monitor_options watched;
    int64_t patience, verbose;
    double baseline; /* NaN: none */
    bool restore_best_weights;
    int64_t start_from_epoch;
    bool all_stages;
} early_stopping_options;

typedef struct early_stopping {
    int64_t stage; /* that the rest is of; with all_stages always 0 */
    double best;   /* NaN: none yet */
    int64_t best_epoch;
    int64_t wait; /* epochs since the last improvement */
    bool began;
    liana__snapshot weights; /* of the best epoch */
} early_stopping;

static const liana_option fields[] = {
    LIANA__MONITOR_FIELDS("0.0"),
    LIANA_OPTION_ROW(early_stopping_options, patience, INT, .default_text = "0", .minimum = 0, .maximum = 1e9,
                     .doc = "Number of epochs without improvement after which the training ends."),
    LIANA_OPTION_ROW(early_stopping_options, baseline, FLOAT, .default_text = "null", .minimum = -1e30, .maximum = 1e30,
                     .doc = "A value that must be passed as well to count as an improvement (null: none)."),
    LIANA_OPTION_ROW(early_stopping_options, restore_best_weights, BOOL, .default_text = "false",
                     .doc = "At the end, go back to the weights of the best epoch."),
    LIANA_OPTION_ROW(early_stopping_options, start_from_epoch, INT, .default_text = "0", .minimum = 0, .maximum = 1e9,
                     .doc = "Number of first epochs, of each stage, that are not looked at."),
    LIANA_OPTION_ROW(early_stopping_options, verbose, INT, .default_text = "1", .minimum = 0, .maximum = 2,
                     .doc = "Whether it is told that the weights are those of the best epoch."),
    LIANA_OPTION_ROW(early_stopping_options, all_stages, BOOL, .default_text = "false",
                     .doc = "true: all stages of a training are one to it, and it ends them all; false: it ends its "
                            "stage, and the next one begins."),
};

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const early_stopping *own = item->self;
    liana__keep_number(state, "best", own->began ? own->best : NAN);
    liana__keep_count(state, "stage", own->stage);
    liana__keep_count(state, "best_epoch", own->best_epoch);
    liana__keep_count(state, "wait", own->wait);
    liana__snapshot_keep(&own->weights, state, "best_weights");
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    const early_stopping_options *options = item->options;
    early_stopping *own = item->self;
    own->began = liana__kept_number(state, "best", &own->best);
    liana__kept_count(state, "stage", &own->stage);
    liana__kept_count(state, "best_epoch", &own->best_epoch);
    liana__kept_count(state, "wait", &own->wait);
    if (!options->restore_best_weights) return LIANA_OK;
    return liana__snapshot_load(&own->weights, context, state, "best_weights", context->error);
}

static void destroy(liana_callback_item *item)
{
    liana__snapshot_free(&((early_stopping *)item->self)->weights);
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    const early_stopping_options *options = item->options;
    early_stopping *own = item->self;
    if (!own->began) own->best = NAN;
    own->began = true;
    return liana__monitor_check(&options->watched, context, context->error);
}

/* A new stage is a new fit. Returns the epochs before it. */
static int64_t find_stage(early_stopping *own, const early_stopping_options *options, const liana_fit_context *context)
{
    const liana__training_state *state = &context->training->state;
    if (options->all_stages || !context->training->stages) return 0;
    if (own->stage != state->stage) {
        liana__snapshot_free(&own->weights);
        *own = (early_stopping){.stage = state->stage, .best = NAN, .began = true};
    }
    return state->stage ? state->stage_epoch : 0;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    liana__error *error = context->error;
    const early_stopping_options *options = item->options;
    early_stopping *own = item->self;
    double value;
    bool known;
    const int64_t before = find_stage(own, options, context);
    LIANA_TRY(liana__fit_metric(context, options->watched.monitor, &value, &known, error));
    if (!known || context->epoch - before <= options->start_from_epoch) return LIANA_OK;
    own->wait++;
    bool improved = isnan(own->best) || liana__monitor_improves(&options->watched, value, own->best);
    if (options->restore_best_weights && (improved || !own->weights.taken)) {
        LIANA_TRY(liana__snapshot_take(&own->weights, context, error));
        own->best_epoch = context->epoch;
    }
    if (improved) {
        own->best = value;
        own->best_epoch = context->epoch;
        bool passes = isnan(options->baseline) || liana__monitor_improves(&options->watched, value, options->baseline);
        if (passes) own->wait = 0;
        return LIANA_OK;
    }
    if (own->wait < options->patience || context->epoch <= 1) return LIANA_OK;
    static const char format[] = "%s is %.6g, and was %.6g after epoch %lld, the best one";
    (options->all_stages ? liana__fit_stop : liana__fit_stop_stage)(context, format, options->watched.monitor, value,
                                                                    own->best, (long long)own->best_epoch);
    return LIANA_OK;
}

static liana_status restore_best(const liana_callback_item *item, liana_fit_context *context)
{
    const early_stopping_options *options = item->options;
    const early_stopping *own = item->self;
    bool is_better = own->weights.taken && own->best_epoch != context->epoch;
    if (!options->restore_best_weights || !is_better) return LIANA_OK;
    if (options->verbose) {
        liana__note(&context->notes, "the weights are those of epoch %lld, where %s was %.6g",
                    (long long)own->best_epoch, options->watched.monitor, own->best);
    }
    return liana__snapshot_restore(&own->weights, context, context->error);
}

static liana_status train_end(liana_callback_item *item, liana_fit_context *context)
{
    return restore_best(item, context);
}

/* The next stage begins from the best weights of this one, instead of their averages too. */
static liana_status last_step(liana_callback_item *item, liana_fit_context *context)
{
    const early_stopping_options *options = item->options;
    const early_stopping *own = item->self;
    bool chooses = context->ends_stage && !options->all_stages && options->restore_best_weights && own->weights.taken;
    if (!chooses || own->best_epoch == context->epoch) return LIANA_OK;
    LIANA_TRY(restore_best(item, context));
    return liana__averaged_weights_follow(context->training, context->error);
}

const liana_callback_type liana__callback_EarlyStopping = {
    LIANA_PART(CALLBACK, liana_callback_type, "EarlyStopping",
               "Ends the training when a metric has not improved for some epochs.",
               LIANA_PART_OPTIONS(early_stopping_options, fields)),
    .self_size = sizeof(early_stopping),
    .save = save,
    .load = load,
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_LAST_STEP] = last_step,
           [LIANA_ON_TRAIN_END] = train_end},
};
