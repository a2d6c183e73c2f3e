/* The loop of a training. */
#include "train/core/fit.h"

#include "base/clock.h"
#include "train/core/batch_components.h"

#include <math.h>
#include <stdlib.h>

/* A fit that is running. */
typedef struct fit_run {
    const liana__fit_options *options;
    liana__training *training;
    liana__training_state *state; /* the training's */
    liana__learning_rate learning_rate;
    liana__error *error;
    int64_t steps_per_epoch; /* in the running epoch */
    double last_checkpoint;  /* when, in seconds */
    liana__timing_epoch timing;
    double rate;
    bool stopping;
    liana__totals validation; /* the newest; count 0: none yet */
} fit_run;

/* Data are drawn anew in each epoch, those of earlier fits included. */
static uint64_t data_epoch(const liana__training_state *state, int64_t epoch)
{
    return (uint64_t)(state->earlier_epochs + epoch);
}

static void report(fit_run *fit, liana__fit_event event)
{
    const liana__fit_options *options = fit->options;
    event.epoch = fit->state->epoch + 1;
    event.epochs = options->epochs;
    event.learning_rate = fit->rate;
    if (options->on_event && !options->on_event(options->user, &event)) fit->stopping = true;
}

static liana_status save_checkpoint(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    if (!options->save) return LIANA_OK;
    LIANA_TRY(options->save(options->user, fit->error));
    fit->last_checkpoint = liana__clock_seconds();
    report(fit, (liana__fit_event){.kind = LIANA__FIT_CHECKPOINT,
                                   .step = fit->state->step,
                                   .steps = fit->steps_per_epoch,
                                   .training = &fit->state->running,
                                   .validation = &(liana__totals){.count = 0}});
    return LIANA_OK;
}

static bool checkpoint_due(const fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    if (options->every_steps > 0 && fit->state->iteration % options->every_steps == 0) return true;
    return options->every_minutes > 0 && liana__clock_seconds() - fit->last_checkpoint >= 60 * options->every_minutes;
}

/* The first loss that is not finite, or the last one. */
static double worst_loss(const liana__objective *objective, const float *sums)
{
    size_t worst = 0;
    while (worst + 1 < objective->num_outputs && isfinite(sums[worst])) worst++;
    return (double)sums[worst];
}

static liana_status check_finite(const fit_run *fit, const float *sums)
{
    double loss = worst_loss(fit->training->objective, sums);
    if (isfinite(loss)) return LIANA_OK;
    return liana__fail(
        fit->error, LIANA_OUT_OF_RANGE,
        "the loss is %g at epoch %lld, step %lld (learning rate %g): training has diverged; try a smaller "
        "learning rate or a warm-up",
        loss, (long long)fit->state->epoch + 1, (long long)fit->state->step + 1, fit->rate);
}

static liana_status train_step(fit_run *fit, const liana__batch *batch)
{
    const liana__fit_options *options = fit->options;
    liana__training_state *state = fit->state;
    liana__trainer_batch data = liana__trainer_batch_of(fit->training->trainer, batch, true);
    const float *sums;
    fit->rate = liana__learning_rate_at(&fit->learning_rate, state->iteration);
    LIANA_TRY(liana__trainer_step(fit->training->trainer, &data, fit->rate, state->iteration + 1, &sums, fit->error));
    LIANA_TRY(check_finite(fit, sums));
    liana__totals_add(&state->running, sums, batch->count, batch->num_positions - batch->count);
    for (int64_t i = 0; options->seen_classes && batch->labels && i < batch->count; i++) {
        options->seen_classes[batch->labels[i]] = true;
    }
    state->iteration++;
    state->step++;
    fit->timing.images += batch->count;
    fit->timing.wait += batch->wait_seconds;
    return LIANA_OK;
}

static liana_status train_epoch(fit_run *fit)
{
    liana__training_state *state = fit->state;
    double begin = liana__clock_seconds();
    fit->timing = (liana__timing_epoch){0};
    while (state->step < fit->steps_per_epoch && !fit->stopping) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(fit->options->training, &batch, fit->error));
        liana_status status = train_step(fit, batch);
        liana__loader_release(fit->options->training, batch);
        LIANA_TRY(status);
        fit->timing.seconds = liana__clock_seconds() - begin;
        report(fit, (liana__fit_event){.kind = LIANA__FIT_STEP,
                                       .step = state->step,
                                       .steps = fit->steps_per_epoch,
                                       .seconds = fit->timing.seconds,
                                       .wait = fit->timing.wait,
                                       .images = fit->timing.images,
                                       .training = &state->running,
                                       .validation = &(liana__totals){.count = 0}});
        if (checkpoint_due(fit)) LIANA_TRY(save_checkpoint(fit));
    }
    return LIANA_OK;
}

/* What an evaluation in the middle of a fit tells its progress to. */
typedef struct validation {
    fit_run *fit;
    const liana__totals *totals;
    double begin;
    double wait;
    int64_t batches;
    int64_t steps;
} validation;

static liana_status report_validation(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    (void)outputs;
    validation *own = user;
    own->wait += batch->wait_seconds;
    own->batches++;
    report(own->fit, (liana__fit_event){.kind = LIANA__FIT_VALIDATION,
                                        .step = own->batches,
                                        .steps = own->steps,
                                        .seconds = liana__clock_seconds() - own->begin,
                                        .wait = own->wait,
                                        .images = own->totals->count,
                                        .training = &own->fit->state->running,
                                        .validation = own->totals});
    return own->fit->stopping ? liana__fail(error, LIANA_CANCELLED, "stopped while validating") : LIANA_OK;
}

static liana_status finish_epoch(fit_run *fit)
{
    liana__training_state *state = fit->state;
    const liana__fit_options *options = fit->options;
    if (options->validation) {
        validation progress = {.fit = fit,
                               .totals = &fit->validation,
                               .begin = liana__clock_seconds(),
                               .steps = (int64_t)liana__loader_steps_per_epoch(options->validation, 0)};
        LIANA_TRY(liana__evaluate(fit->training->trainer, options->validation, true, &fit->validation,
                                  report_validation, &progress, fit->error));
    }
    const liana__history_epoch epoch = {.training = liana__totals_finish(&state->running),
                                        .validation = liana__totals_finish(&fit->validation),
                                        .learning_rate = fit->rate};
    if (!liana__history_add(&state->history, &epoch, &fit->timing))
        return liana__fail_memory(fit->error, "the history");
    report(fit, (liana__fit_event){.kind = LIANA__FIT_EPOCH,
                                   .step = fit->steps_per_epoch,
                                   .steps = fit->steps_per_epoch,
                                   .seconds = fit->timing.seconds,
                                   .wait = fit->timing.wait,
                                   .images = fit->timing.images,
                                   .training = &state->running,
                                   .validation = &fit->validation});
    state->epoch++;
    state->step = 0;
    liana__totals_clear(&state->running);
    bool last = state->epoch == options->epochs;
    return options->every_epoch || last ? save_checkpoint(fit) : LIANA_OK;
}

/* A stop on request: what was done is kept. */
static liana_status stop(fit_run *fit)
{
    LIANA_TRY(save_checkpoint(fit));
    return liana__fail(fit->error, LIANA_CANCELLED,
                       "stopped on request in epoch %lld after step %lld; --resume goes on "
                       "from there",
                       (long long)fit->state->epoch + 1, (long long)fit->state->step);
}

/* Before the first step of an epoch: its length, and programs for its last batch. */
static liana_status prepare_epoch(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    uint64_t epoch = data_epoch(fit->state, fit->state->epoch),
             length = liana__loader_epoch_length(options->training, epoch);
    int64_t left = (int64_t)(length % (uint64_t)options->batch_size);
    fit->steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(options->training, epoch);
    return left ? liana__trainer_prepare(fit->training->trainer, left, true, fit->error) : LIANA_OK;
}

/* Compiles the sizes of batches of the validation. */
static liana_status prepare_validation(const fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    if (!options->validation) return LIANA_OK;
    int64_t length = (int64_t)liana__loader_epoch_length(options->validation, 0);
    int64_t left = length % options->batch_size;
    if (left) LIANA_TRY(liana__trainer_prepare(fit->training->trainer, left, false, fit->error));
    if (length < options->batch_size) return LIANA_OK;
    return liana__trainer_prepare(fit->training->trainer, options->batch_size, false, fit->error);
}

/* The updates of the whole fit. */
static int64_t count_steps(const fit_run *fit)
{
    int64_t count = 0;
    for (int64_t epoch = 0; epoch < fit->options->epochs; epoch++) {
        count += (int64_t)liana__loader_steps_per_epoch(fit->options->training, data_epoch(fit->state, epoch));
    }
    return count;
}

/* The updates of this fit that are done, from a checkpoint of it on. */
static int64_t count_done(const fit_run *fit)
{
    int64_t count = fit->state->step;
    for (int64_t epoch = 0; epoch < fit->state->epoch; epoch++) {
        count += (int64_t)liana__loader_steps_per_epoch(fit->options->training, data_epoch(fit->state, epoch));
    }
    return count;
}

/* Where epochs differ in length, the schedule's epochs are like the first one, and it ends when the last epoch does. A
 * fit after others goes on where their schedule was, as if they had been one longer fit. */
static void begin_schedule(fit_run *fit)
{
    fit->learning_rate = fit->training->learning_rate;
    fit->learning_rate.steps_per_epoch =
        (int64_t)liana__loader_steps_per_epoch(fit->options->training, data_epoch(fit->state, 0));
    fit->learning_rate.total_steps = fit->state->iteration - count_done(fit) + count_steps(fit);
}

/* From where the training is to the end of the last epoch. */
static liana_status run_epochs(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    liana__training_state *state = fit->state;
    begin_schedule(fit);
    LIANA_TRY(prepare_validation(fit));
    if (state->epoch >= options->epochs) return LIANA_OK;
    LIANA_TRY(prepare_epoch(fit));
    /* The rate of the last update, should the epoch be over already. */
    if (state->iteration) fit->rate = liana__learning_rate_at(&fit->learning_rate, state->iteration - 1);
    bool epoch_trained = state->step >= fit->steps_per_epoch;
    LIANA_TRY(liana__loader_begin(options->training, data_epoch(state, state->epoch + epoch_trained),
                                  epoch_trained ? 0 : (uint64_t)state->step, fit->error));
    while (state->epoch < options->epochs) {
        LIANA_TRY(train_epoch(fit));
        liana_status status = state->step >= fit->steps_per_epoch ? finish_epoch(fit) : LIANA_OK;
        if (status != LIANA_OK && !(status == LIANA_CANCELLED && fit->stopping)) return status;
        if (fit->stopping && state->epoch < options->epochs) return stop(fit);
        if (state->epoch < options->epochs) LIANA_TRY(prepare_epoch(fit));
    }
    return LIANA_OK;
}

liana_status liana__fit(liana__training *training, const liana__fit_options *options, liana__error *error)
{
    fit_run fit = {.options = options,
                   .training = training,
                   .state = &training->state,
                   .error = error,
                   .last_checkpoint = liana__clock_seconds()};
    liana_status status = run_epochs(&fit);
    liana__totals_free(&fit.validation);
    return status;
}

liana_status liana__evaluate(liana__trainer *trainer, liana__loader *loader, bool has_labels, liana__totals *totals,
                             liana__on_outputs on_outputs, void *user, liana__error *error)
{
    if (!totals->objective) LIANA_TRY(liana__totals_create(liana__trainer_objective(trainer), totals, error));
    liana__totals_clear(totals);
    LIANA_TRY(liana__loader_begin(loader, 0, 0, error));
    int64_t steps = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    float *outputs = NULL;
    int64_t capacity = 0;
    liana_status status = LIANA_OK;
    for (int64_t step = 0; step < steps && status == LIANA_OK; step++) {
        liana__batch *batch;
        status = liana__loader_next(loader, &batch, error);
        if (status != LIANA_OK) break;
        if (on_outputs && batch->count > capacity) {
            free(outputs);
            capacity = batch->count;
            outputs = malloc((size_t)(capacity * liana__trainer_row_size(trainer)) * sizeof *outputs);
            if (!outputs) status = liana__fail_memory(error, "the model's outputs");
        }
        liana__trainer_batch data = liana__trainer_batch_of(trainer, batch, has_labels);
        const float *sums;
        if (status == LIANA_OK) status = liana__trainer_evaluate(trainer, &data, outputs, &sums, error);
        if (status == LIANA_OK) {
            liana__totals_add(totals, sums, batch->count, batch->num_positions - batch->count);
            if (on_outputs) status = on_outputs(user, batch, outputs, error);
        }
        liana__loader_release(loader, batch);
    }
    free(outputs);
    return status;
}
