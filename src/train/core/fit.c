/* The loop of a training. */
#include "train/core/fit.h"

#include "base/clock.h"
#include "train/core/averaged_weights.h"
#include "train/core/batch_components.h"
#include "train/core/fit_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A fit that is running. */
typedef struct fit_run {
    const liana__fit_options *options;
    liana__training *training;
    liana__training_state *state; /* the training's */
    liana__learning_rate learning_rate;
    liana__fit_plan plan;
    liana__error *error;
    int64_t steps_per_epoch; /* in the running epoch */
    int64_t end_step;        /* the same, or less if the fit ends in it */
    double training_begin;   /* of the running epoch, in seconds; later by the time of validations in it */
    liana__timing_epoch timing;
    liana__totals validation; /* of the running epoch */
    liana__totals measured;   /* by liana__fit_validate */
    double kept_factor;       /* the rate factor that goes with the kept states of the callbacks */
    liana_fit_context context;
} fit_run;

static const liana__totals NO_TOTALS;

/* ---- callbacks ---- */

static liana_status call(fit_run *fit, liana__callback_event event)
{
    fit->context.epoch = fit->state->epoch + 1;
    return liana__callback_list_call(fit->options->callbacks, event, &fit->context, fit->error);
}

/* The same about the training of the epoch, not about its validation. */
static liana_status call_training(fit_run *fit, liana__callback_event event)
{
    liana_fit_context *context = &fit->context;
    context->step = fit->state->step;
    context->steps = fit->end_step;
    context->seconds = fit->timing.seconds;
    context->wait = fit->timing.wait;
    context->images = fit->timing.images;
    bool validated = event == LIANA__ON_EPOCH_END || event == LIANA__ON_TRAIN_END;
    context->validation = validated ? &fit->validation : &NO_TOTALS;
    return call(fit, event);
}

static liana_status keep_states(fit_run *fit)
{
    fit->kept_factor = fit->state->rate_factor;
    return liana__callback_list_save(fit->options->callbacks, &fit->state->callbacks, fit->error);
}

static liana_status save_checkpoint(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    liana_fit_context *context = &fit->context;
    context->wants_checkpoint = false;
    if (!options->save) return LIANA_OK;
    LIANA_TRY(options->save(options->user, fit->error));
    context->step = fit->state->step;
    context->steps = fit->end_step;
    context->seconds = context->wait = 0;
    context->images = 0;
    context->validation = &NO_TOTALS;
    return call(fit, LIANA__ON_CHECKPOINT);
}

/* ---- an update ---- */

/* The first loss that is not finite, or the last one. */
static double worst_loss(const liana__objective *objective, const float *sums)
{
    size_t worst = 0;
    while (worst + 1 < objective->num_outputs && isfinite(sums[worst])) worst++;
    return (double)sums[worst];
}

static liana_status check_finite(const fit_run *fit, const float *sums, liana__error *error)
{
    double loss = worst_loss(fit->training->objective, sums);
    if (isfinite(loss)) return LIANA_OK;
    return liana__fail(
        error, LIANA_OUT_OF_RANGE,
        "the loss is %g at epoch %lld, step %lld (learning rate %g): training has diverged; try a smaller "
        "learning rate or a warm-up",
        loss, (long long)fit->state->epoch + 1, (long long)fit->state->step + 1, fit->context.learning_rate);
}

static void set_rate(fit_run *fit, int64_t iteration)
{
    fit->context.scheduled_rate = liana__training_rate(fit->training, &fit->learning_rate, iteration);
    fit->context.learning_rate = fit->context.scheduled_rate * fit->state->rate_factor;
}

/* The update counts as done, but not for the sums of the epoch, if a callback knows a state to go back to. */
static liana_status recover(fit_run *fit, const float *sums)
{
    liana__error diverged = {0};
    liana_status status = check_finite(fit, sums, &diverged);
    fit->context.recovered = false;
    fit->state->changed_after_update = false;
    fit->state->iteration++;
    fit->state->step++;
    LIANA_TRY(call_training(fit, LIANA__ON_DIVERGENCE));
    if (fit->context.recovered) return LIANA_OK;
    *fit->error = diverged;
    return status;
}

static liana_status train_step(fit_run *fit, const liana__batch *batch)
{
    const liana__fit_options *options = fit->options;
    liana__training_state *state = fit->state;
    const liana__trainer *trainer = fit->training->trainer;
    LIANA_TRY(liana__batch_check(trainer, batch, liana__loader_source(options->training), fit->error));
    liana__trainer_batch data = liana__trainer_batch_of(trainer, batch);
    const float *sums;
    const int64_t applied = liana__training_state_applied(state);
    set_rate(fit, applied);
    LIANA_TRY(
        liana__trainer_step(fit->training->trainer, &data, fit->context.learning_rate, applied + 1, &sums, fit->error));
    fit->context.learning_rate = liana__training_keep_rate(fit->training, fit->context.learning_rate);
    if (check_finite(fit, sums, NULL) != LIANA_OK) return recover(fit, sums);
    fit->context.update = (liana__update_sums){sums, batch->count, batch->num_positions - batch->count};
    liana__totals_add(&state->running, sums, batch->count, batch->num_positions - batch->count);
    for (int64_t i = 0; options->seen_classes && batch->labels && i < batch->count; i++) {
        options->seen_classes[batch->labels[i]] = true;
    }
    state->changed_after_update = false;
    state->iteration++;
    state->step++;
    fit->timing.images += batch->count;
    fit->timing.wait += batch->wait_seconds;
    return LIANA_OK;
}

static bool halts(const fit_run *fit)
{
    return fit->context.stopping || fit->context.interrupted;
}

/* ---- validations ---- */

/* What an evaluation in the middle of a fit tells callbacks. */
typedef struct validation {
    fit_run *fit;
    double begin;
} validation;

static liana_status report_validation(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    validation *own = user;
    liana_fit_context *context = &own->fit->context;
    context->wait += batch->wait_seconds;
    context->step++;
    context->seconds = liana__clock_seconds() - own->begin;
    context->images = context->validation->count;
    context->batch = batch;
    context->outputs = outputs;
    liana_status status = call(own->fit, LIANA__ON_VALIDATION_STEP);
    context->batch = NULL;
    context->outputs = NULL;
    LIANA_TRY(status);
    return context->interrupted ? liana__fail(error, LIANA_CANCELLED, "stopped while validating") : LIANA_OK;
}

static int64_t validation_steps(const fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    int64_t steps = (int64_t)liana__loader_steps_per_epoch(options->validation, 0);
    return options->validation_steps && options->validation_steps < steps ? options->validation_steps : steps;
}

static void begin_validation(liana_fit_context *context, const liana__totals *totals, int64_t steps)
{
    context->step = 0;
    context->steps = steps;
    context->validation = totals;
    context->seconds = context->wait = 0;
    context->images = 0;
}

static liana_status validate(fit_run *fit)
{
    liana_fit_context *context = &fit->context;
    liana__totals_clear(&fit->validation);
    begin_validation(context, &fit->validation, validation_steps(fit));
    LIANA_TRY(call(fit, LIANA__ON_VALIDATION_BEGIN));
    validation progress = {fit, liana__clock_seconds()};
    LIANA_TRY(liana__evaluate(fit->training->trainer, fit->options->validation, context->steps, &fit->validation,
                              report_validation, &progress, fit->error));
    return call(fit, LIANA__ON_VALIDATION_END);
}

liana_status liana__fit_validate(liana_fit_context *context, const liana__totals **measured, liana__error *error)
{
    fit_run *fit = context->loop;
    const liana_fit_context before = *context;
    *measured = &fit->measured;
    liana__totals_clear(&fit->measured);
    begin_validation(context, &fit->measured, validation_steps(fit));
    validation progress = {fit, liana__clock_seconds()};
    liana_status status = liana__evaluate(fit->training->trainer, fit->options->validation, context->steps,
                                          &fit->measured, report_validation, &progress, error);
    context->step = before.step;
    context->steps = before.steps;
    context->seconds = before.seconds;
    context->wait = before.wait;
    context->images = before.images;
    context->validation = before.validation;
    context->running = before.running;
    return status;
}

static bool validates_by_steps(const fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    int64_t every = options->validation_freq_steps;
    return options->validation && every > 0 && fit->state->iteration % every == 0;
}

/* In the middle of an epoch. Out of a validation that is interrupted the epoch is left as after any update. */
static liana_status validate_between(fit_run *fit)
{
    if (!validates_by_steps(fit) || fit->state->step >= fit->end_step || halts(fit)) return LIANA_OK;
    double begin = liana__clock_seconds();
    liana_status status = validate(fit);
    fit->training_begin += liana__clock_seconds() - begin;
    return status == LIANA_CANCELLED && fit->context.interrupted ? LIANA_OK : status;
}

/* ---- an epoch ---- */

static liana_status train_epoch(fit_run *fit)
{
    liana__training_state *state = fit->state;
    fit->training_begin = liana__clock_seconds();
    fit->timing = (liana__timing_epoch){0};
    bool begins = state->step == 0 && state->step < fit->end_step;
    if (begins && !halts(fit)) LIANA_TRY(call_training(fit, LIANA__ON_EPOCH_BEGIN));
    while (state->step < fit->end_step && !halts(fit)) {
        liana__batch *batch;
        liana_status begun = call_training(fit, LIANA__ON_STEP_BEGIN);
        /* Also out of a validation that a callback asked for: it is done again. */
        if (begun == LIANA_CANCELLED && fit->context.interrupted) break;
        LIANA_TRY(begun);
        if (halts(fit)) break;
        LIANA_TRY(liana__loader_next(fit->options->training, &batch, fit->error));
        liana_status status = train_step(fit, batch);
        liana__loader_release(fit->options->training, batch);
        LIANA_TRY(status);
        fit->timing.seconds = liana__clock_seconds() - fit->training_begin;
        LIANA_TRY(call_training(fit, LIANA__ON_STEP_END));
        LIANA_TRY(validate_between(fit));
        /* The last update of a fit is saved with its end: a checkpoint is not written twice. */
        bool is_last = fit->context.stopping || state->iteration >= fit->plan.last_iteration;
        if (!fit->context.wants_checkpoint || is_last) continue;
        LIANA_TRY(keep_states(fit));
        LIANA_TRY(save_checkpoint(fit));
    }
    return LIANA_OK;
}

/* ---- the end of an epoch, and of the fit ---- */

/* Whether the fit is as long as it was to be, after so many epochs. */
static bool is_long_enough(const fit_run *fit, int64_t epochs)
{
    const int64_t most = fit->options->length.epochs;
    return (most && epochs >= most) || fit->state->iteration >= fit->plan.last_iteration;
}

/* At the end of an epoch, or of the fit. */
static liana_status validate_epoch(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    const liana__training_state *state = fit->state;
    const int64_t every = options->validation_freq ? options->validation_freq : 1;
    bool whole = state->step >= fit->steps_per_epoch,
         ends = fit->context.stopping || is_long_enough(fit, state->epoch + whole),
         is_due = options->validation_freq_steps ? validates_by_steps(fit) || ends : (state->epoch + 1) % every == 0;
    liana__totals_clear(&fit->validation);
    return options->validation && is_due ? validate(fit) : LIANA_OK;
}

static void next_epoch(liana__training_state *state)
{
    state->epoch++;
    state->step = 0;
    liana__totals_clear(&state->running);
}

/* The weights become their averages, unless a callback has chosen others. */
static liana_status take_averages(fit_run *fit)
{
    liana__training_state *state = fit->state;
    if (state->changed_after_update) return LIANA_OK;
    return liana__averaged_weights_take(fit->training, fit->error);
}

/* A callback of the training's end may have written weights of its own. */
static liana_status mind_restored_weights(fit_run *fit)
{
    liana__training_state *state = fit->state;
    if (!state->averaged) return LIANA_OK;
    if (state->changed_after_update) return liana__averaged_weights_begin_anew(fit->training, fit->error);
    state->changed_after_update = true;
    return LIANA_OK;
}

/* `whole`: at the end of an epoch. In the middle of one the callbacks' states and the rate factor are those from before
 * its validation, which a longer fit does again. */
static liana_status end_training(fit_run *fit, bool whole)
{
    liana__training_state *state = fit->state;
    const liana_fit_context *context = &fit->context;
    LIANA_TRY(take_averages(fit));
    LIANA_TRY(call_training(fit, LIANA__ON_TRAIN_END));
    LIANA_TRY(mind_restored_weights(fit));
    if (context->stopping) {
        liana__note(&fit->options->notes, "%s ended the training in epoch %lld, after update %lld: %s",
                    context->stopped_by, (long long)context->epoch, (long long)state->iteration, context->reason);
    }
    if (whole) {
        next_epoch(state);
        LIANA_TRY(keep_states(fit));
    }
    state->rate_factor = fit->kept_factor;
    state->ended = true;
    state->ended_length = fit->options->length;
    snprintf(state->stopped_by, sizeof state->stopped_by, "%s", context->stopped_by);
    return save_checkpoint(fit);
}

static liana_status finish_epoch(fit_run *fit)
{
    liana__training_state *state = fit->state;
    bool whole = state->step >= fit->steps_per_epoch;
    LIANA_TRY(keep_states(fit));
    LIANA_TRY(validate_epoch(fit));
    LIANA_TRY(call_training(fit, LIANA__ON_EPOCH_END));
    if (fit->context.stopping || is_long_enough(fit, state->epoch + whole)) return end_training(fit, whole);
    next_epoch(state);
    if (!fit->context.wants_checkpoint) return LIANA_OK;
    LIANA_TRY(keep_states(fit));
    return save_checkpoint(fit);
}

/* A stop on request: what was done is kept. `validating`: the states are those from before the validation. */
static liana_status interrupt(fit_run *fit, bool validating)
{
    if (!validating) LIANA_TRY(keep_states(fit));
    LIANA_TRY(save_checkpoint(fit));
    return liana__fail(fit->error, LIANA_CANCELLED,
                       "stopped on request in epoch %lld after step %lld; --resume goes on "
                       "from there",
                       (long long)fit->state->epoch + 1, (long long)fit->state->step);
}

/* ---- before the first update ---- */

/* Before the first step of an epoch: its length, and programs for its last batch. */
static liana_status prepare_epoch(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    const liana__training_state *state = fit->state;
    uint64_t epoch = liana__fit_data_epoch(state, state->epoch),
             length = liana__loader_epoch_length(options->training, epoch);
    int64_t left = (int64_t)(length % (uint64_t)options->batch_size),
            rest = fit->plan.last_iteration - state->iteration;
    fit->steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(options->training, epoch);
    fit->end_step = rest < fit->steps_per_epoch - state->step ? state->step + rest : fit->steps_per_epoch;
    return left ? liana__trainer_prepare(fit->training->trainer, left, true, fit->error) : LIANA_OK;
}

/* Compiles the sizes of batches of the validation. */
static liana_status prepare_validation(const fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    if (!options->validation) return LIANA_OK;
    int64_t size = options->validation_batch_size ? options->validation_batch_size : options->batch_size;
    int64_t length = (int64_t)liana__loader_epoch_length(options->validation, 0);
    int64_t left = length % size;
    if (left) LIANA_TRY(liana__trainer_prepare(fit->training->trainer, left, false, fit->error));
    if (length < size) return LIANA_OK;
    return liana__trainer_prepare(fit->training->trainer, size, false, fit->error);
}

/* The lengths of fit and schedule. */
static void make_plan(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    const liana__training *training = fit->training;
    fit->learning_rate = training->learning_rate;
    fit->plan = liana__fit_plan_make(fit->state, options->training, &options->length, &fit->learning_rate);
    fit->context.epochs = fit->plan.epochs;
    if (!training->stages) return;
    const liana__training_stage *stage = &training->stages->items[fit->state->stage];
    liana__fit_plan_stage(fit->state, options->training, stage->end, &fit->learning_rate);
}

/* Before an epoch: the next stage begins if the running one is over. */
static liana_status find_stage(fit_run *fit)
{
    liana__training *training = fit->training;
    const liana__training_stages *stages = training->stages;
    const size_t stage = (size_t)fit->state->stage;
    bool over = stages && fit->state->step == 0 && fit->state->epoch >= stages->items[stage].end;
    if (!over || stage + 1 == stages->count) return LIANA_OK;
    LIANA_TRY(liana__training_begin_stage(training, stage + 1, &fit->options->notes, fit->error));
    make_plan(fit);
    return prepare_validation(fit);
}

static bool is_raised(double limit, double before)
{
    return before > 0 && (limit <= 0 || limit > before);
}

bool liana__fit_is_over(const liana__training_state *state, const liana__training_length *length,
                        const liana__callback_list *callbacks)
{
    const liana__training_length *before = &state->ended_length;
    if (length->epochs && state->epoch >= length->epochs) return true;
    if (!state->ended) return false;
    bool longer = is_raised((double)length->epochs, (double)before->epochs) ||
                  is_raised((double)length->steps, (double)before->steps) ||
                  is_raised(length->minutes, before->minutes);
    if (longer) return false;
    return !*state->stopped_by || liana__callback_list_has(callbacks, state->stopped_by);
}

static liana_status begin_training(fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    liana__training_state *state = fit->state;
    state->ended = false;
    state->stopped_by[0] = 0;
    LIANA_TRY(liana__averaged_weights_return(fit->training, fit->error));
    LIANA_TRY(find_stage(fit));
    LIANA_TRY(prepare_epoch(fit));
    /* The rate of the last update, should the epoch be over already. */
    const int64_t applied = liana__training_state_applied(state);
    if (applied) set_rate(fit, applied - 1);
    LIANA_TRY(liana__callback_list_load(options->callbacks, &fit->context, &state->callbacks, fit->error));
    LIANA_TRY(call_training(fit, LIANA__ON_TRAIN_BEGIN));
    bool epoch_trained = state->step >= fit->steps_per_epoch;
    return liana__loader_begin(options->training, liana__fit_data_epoch(state, state->epoch + epoch_trained),
                               epoch_trained ? 0 : (uint64_t)state->step, fit->error);
}

/* Before an epoch's first update: there is nothing to validate. */
static liana_status end_before_update(fit_run *fit)
{
    liana__totals_clear(&fit->validation);
    LIANA_TRY(keep_states(fit));
    return end_training(fit, false);
}

static liana_status run(fit_run *fit)
{
    const liana__training_state *state = fit->state;
    liana_fit_context *context = &fit->context;
    LIANA_TRY(begin_training(fit));
    while (!state->ended) {
        LIANA_TRY(train_epoch(fit));
        if (state->step == 0 && (context->stopping || is_long_enough(fit, state->epoch))) return end_before_update(fit);
        bool epoch_over = state->step >= fit->end_step || context->stopping;
        liana_status status = epoch_over ? finish_epoch(fit) : LIANA_OK;
        bool validating = status == LIANA_CANCELLED && context->interrupted;
        if (status != LIANA_OK && !validating) return status;
        if (context->interrupted && !state->ended) return interrupt(fit, validating);
        if (state->ended) break;
        LIANA_TRY(find_stage(fit));
        LIANA_TRY(prepare_epoch(fit));
    }
    return LIANA_OK;
}

liana_status liana__fit(liana__training *training, const liana__fit_options *options, liana__error *error)
{
    fit_run fit = {.options = options,
                   .training = training,
                   .state = &training->state,
                   .error = error,
                   .context = {.training = training,
                               .totals = &training->state.running,
                               .validation = &NO_TOTALS,
                               .validates = options->validation != NULL,
                               .folder = options->folder,
                               .notes = options->notes,
                               .is_chief = true,
                               .resumed = options->resumed,
                               .loop = &fit,
                               .error = error}};
    LIANA_TRY(prepare_validation(&fit));
    if (liana__fit_is_over(&training->state, &options->length, options->callbacks)) return LIANA_OK;
    make_plan(&fit);
    liana_status status = run(&fit);
    liana__totals_free(&fit.validation);
    liana__totals_free(&fit.measured);
    /* The callbacks may be gone before the state is. */
    liana_status kept = liana__kept_values_own(&training->state.callbacks, error);
    return status == LIANA_OK ? kept : status;
}

liana_status liana__evaluate(liana__trainer *trainer, liana__loader *loader, int64_t max_steps, liana__totals *totals,
                             liana__on_outputs on_outputs, void *user, liana__error *error)
{
    if (!totals->objective) LIANA_TRY(liana__totals_create(liana__trainer_objective(trainer), totals, error));
    liana__totals_clear(totals);
    LIANA_TRY(liana__loader_begin(loader, 0, 0, error));
    int64_t steps = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    if (max_steps && max_steps < steps) steps = max_steps;
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
        liana__trainer_batch data = liana__trainer_batch_of(trainer, batch);
        const float *sums;
        if (status == LIANA_OK) status = liana__batch_check(trainer, batch, liana__loader_source(loader), error);
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
