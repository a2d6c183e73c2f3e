/* The updates of a learning-rate sweep. */
#include "train/training/rate_finder.h"

#include "train/objective/batch_components.h"

#include <math.h>

typedef struct sweep {
    liana__training *training;
    const liana__rate_finder_options *options;
    liana__rate_curve *curve;
    liana__totals totals; /* of one batch */
    bool goes_on;
} sweep;

static liana_status update(sweep *own, const liana__batch *batch, liana__error *error)
{
    const liana__rate_finder_options *options = own->options;
    liana__trainer *trainer = own->training->trainer;
    int64_t index = (int64_t)own->curve->count;
    double rate = liana__rate_curve_rate(&options->range, index);
    LIANA_TRY(liana__batch_check(trainer, batch, options->loader, error));
    LIANA_TRY(liana__step_prepare(trainer->step, batch->num_positions, true, error));
    const float *sums;
    liana_status status = liana__trainer_step(trainer, batch, rate, index + 1, &sums, error);
    /* A number that is not finite ends the sweep: it has diverged. */
    const bool diverged = status == LIANA_OUT_OF_RANGE && liana__step_fault(trainer->step)->kind != LIANA__FAULT_NONE;
    if (!diverged) LIANA_TRY(status);
    liana__totals_clear(&own->totals);
    const int64_t count = liana__batch_step_count(batch);
    liana__totals_add(&own->totals, sums, count, batch->num_positions - count);
    double loss = diverged ? NAN : liana__totals_value(&own->totals, 0);
    own->goes_on = liana__rate_curve_add(own->curve, loss);
    if (!options->on_update || options->on_update(options->user, index + 1, rate, loss)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED, "the learning-rate finder was stopped after %lld updates",
                       (long long)index + 1);
}

static liana_status run(sweep *own, liana__error *error)
{
    liana__loader *loader = own->options->loader;
    LIANA_TRY(liana__loader_begin(loader, 0, 0, error));
    liana_status status = LIANA_OK;
    while (own->goes_on && status == LIANA_OK) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(loader, &batch, error));
        /* A batch of bad records has no loss. */
        if (liana__batch_step_count(batch)) status = update(own, batch, error);
        liana__loader_release(loader, batch);
    }
    return status;
}

liana_status liana__find_rate(liana__training *training, const liana__rate_finder_options *options,
                              liana__rate_curve *curve, liana__error *error)
{
    sweep own = {.training = training, .options = options, .curve = curve, .goes_on = true};
    LIANA_TRY(liana__rate_curve_create(&options->range, curve, error));
    LIANA_TRY(liana__totals_create(training->objective, &own.totals, error));
    liana_status status = run(&own, error);
    liana__totals_free(&own.totals);
    return status;
}
