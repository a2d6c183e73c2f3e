/* liana_find_learning_rate. */
#include "base/context.h"
#include "train/model/model_fit.h"
#include "train/training/rate_finder.h"

#include <liana/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const liana_learning_rate_sweep NO_SWEEP = {.suggested = NAN, .steepest = NAN, .lowest = NAN};

typedef struct search {
    liana__rate_finder_options options;
    liana__rate_curve curve;
} search;

static liana_status run(void *user, liana__training *training, liana__loader *loader, liana__error *error)
{
    search *own = user;
    own->options.loader = loader;
    return liana__find_rate(training, &own->options, &own->curve, error);
}

static liana__rate_range range_of(const liana_find_learning_rate_options *options)
{
    return (liana__rate_range){
        .minimum_rate = options->minimum_rate != 0 ? options->minimum_rate : LIANA__RATE_MINIMUM,
        .maximum_rate = options->maximum_rate != 0 ? options->maximum_rate : LIANA__RATE_MAXIMUM,
        .updates = options->updates ? options->updates : LIANA__RATE_UPDATES,
        .smoothing = options->smoothing != 0 ? options->smoothing : LIANA__RATE_SMOOTHING,
        .divergence = options->divergence != 0 ? options->divergence : LIANA__RATE_DIVERGENCE,
    };
}

/* The arrays become the sweep's. */
static liana_status take_curve(liana__rate_curve *curve, liana_learning_rate_sweep *sweep, liana__error *error)
{
    liana__rate_suggestion suggestion;
    liana_status status = liana__rate_curve_suggest(curve, &suggestion, error);
    sweep->suggested = suggestion.rate;
    sweep->steepest = suggestion.steepest;
    sweep->lowest = suggestion.lowest;
    snprintf(sweep->reason, sizeof sweep->reason, "%s", suggestion.reason);
    sweep->diverged = curve->diverged;
    sweep->num_updates = curve->count;
    sweep->rates = curve->rates;
    sweep->losses = curve->losses;
    sweep->smoothed = curve->smoothed;
    *curve = (liana__rate_curve){0};
    return status;
}

static liana_status find(liana_model *model, const liana_find_learning_rate_options *options,
                         liana_learning_rate_sweep *sweep)
{
    liana__error *error = &model->context->error;
    liana_fit_options fit = options->fit;
    /* A sweep of rates has no validations and no checkpoints. */
    fit.validation = NULL;
    fit.checkpoints = NULL;
    fit.resume = false;
    search own = {.options = {.range = range_of(options), .on_update = options->on_update, .user = options->user}};
    /* Before anything is compiled. */
    LIANA_TRY(liana__rate_range_check(&own.options.range, error));
    liana_status status = liana__fit_trial(model, &fit, run, &own, error);
    if (status == LIANA_OK) status = take_curve(&own.curve, sweep, error);
    liana__rate_curve_free(&own.curve);
    return status;
}

liana_status liana_find_learning_rate(liana_model *model, const liana_find_learning_rate_options *options,
                                      liana_learning_rate_sweep *sweep)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__REQUIRE(&model->context->error, sweep);
    *sweep = NO_SWEEP;
    LIANA__CONTEXT_CALL(model->context, find(model, options, sweep));
}

void liana_learning_rate_sweep_free(liana_learning_rate_sweep *sweep)
{
    if (!sweep) return;
    free(sweep->rates);
    free(sweep->losses);
    free(sweep->smoothed);
    *sweep = NO_SWEEP;
}
