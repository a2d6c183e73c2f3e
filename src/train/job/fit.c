/* The loop of a training. */
#include "train/job/fit_internal.h"

#include "base/clock.h"
#include "distribute/cluster/held.h"
#include "train/objective/batch_components.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- callbacks ---- */

static liana_status keep_states(liana__fit_run *fit)
{
    fit->kept_factor = fit->state->rate_factor;
    return liana__callback_list_save(fit->options->callbacks, &fit->state->callbacks, fit->error);
}

typedef struct saving {
    liana__training *training;
    liana_status (*save)(void *user, liana__error *error);
    void *user;
} saving;

/* The chief writes. It gets the slices of the others, also those that it did not ask for because it failed before. All
 * fail if it fails. */
static liana_status save_or_attend(void *user, bool is_chief, liana__error *error)
{
    const saving *own = user;
    liana__cluster *cluster = own->training->cluster;
    liana__phase_part("save");
    if (!cluster) return own->save(own->user, error);
    liana__error unread = {0};
    const uint64_t before = cluster->held_reads, failures = cluster->held_failures;
    liana_status status = is_chief ? own->save(own->user, error) : LIANA_OK;
    /* The others have failed to read the same: another try would have nobody to talk to. */
    if (cluster->held_failures != failures) return status;
    const size_t done = (size_t)(cluster->held_reads - before);
    LIANA_TRY(liana__held_attend(&own->training->variables, done, status == LIANA_OK ? error : &unread));
    return status;
}

liana_status liana__fit_save(liana__training *training, liana_status (*save)(void *user, liana__error *error),
                             void *user, liana__error *error)
{
    saving own = {training, save, user};
    return liana__chief_does(training->cluster, save_or_attend, &own, error);
}

static liana_status save(const liana__fit_run *fit, liana__error *error)
{
    return liana__fit_save(fit->training, fit->options->save, fit->options->user, error);
}

/* Puts the averages in the place of the weights; *swapped: it did. */
static liana_status begin_averages(liana__fit_run *fit, bool wanted, bool *swapped, liana__error *error)
{
    *swapped = wanted && !fit->state->averaged;
    if (!*swapped) return LIANA_OK;
    return liana__averaged_weights_take(fit->training, error);
}

/* Takes that back. Returns the status of the work meanwhile, or the failure to take it back. */
static liana_status end_averages(liana__fit_run *fit, bool swapped, liana_status status, liana__error *error)
{
    if (!swapped) return status;
    liana_status returned = liana__averaged_weights_return(fit->training, status == LIANA_OK ? error : NULL);
    return status == LIANA_OK ? returned : status;
}

/* A checkpoint with averages says so, and a training goes on from its weights. */
static liana_status save_state(liana__fit_run *fit, liana__error *error)
{
    bool swapped;
    LIANA_TRY(begin_averages(fit, fit->context.saves_averages, &swapped, error));
    return end_averages(fit, swapped, save(fit, error), error);
}

/* ---- checkpoints ---- */

static liana_status save_checkpoint(liana__fit_run *fit)
{
    liana_fit_context *context = &fit->context;
    context->wants_checkpoint = false;
    if (!fit->options->save) return LIANA_OK;
    LIANA_TRY(save_state(fit, fit->error));
    context->step = fit->state->step;
    context->steps = fit->end_step;
    context->seconds = context->wait = 0;
    context->images = 0;
    context->validation = &liana__no_totals;
    fit->state->keeps_checkpoint = false;
    return liana__fit_call(fit, LIANA_ON_CHECKPOINT);
}

/* Of a training that ends: the weights of the last update, before a callback puts others in their place. The states are
 * those from before the validation, which a training that goes on from there does again. */
liana_status liana__fit_save_update(liana_fit_context *context, liana__error *error)
{
    liana__fit_run *fit = context->loop;
    const double factor = fit->state->rate_factor;
    if (!fit->options->save) return LIANA_OK;
    fit->state->rate_factor = fit->kept_factor;
    liana_status status = save_state(fit, error);
    fit->state->rate_factor = factor;
    return status;
}

/* ---- validations ---- */

/* Tells callbacks the values of an evaluation in the middle of a fit. */
typedef struct validation {
    liana__fit_run *fit;
    double begin;
    bool wants_outputs;
    bool is_bad; /* its loss is not finite, which was told */
    /* Of training examples: the receiver of the predictions. NULL: it is a validation. */
    liana__on_predictions on_predictions;
    void *user;
} validation;

/* The first batch whose loss is not finite is explained. A control that watches the validation goes back by itself. */
static liana_status watch_validation(validation *own, const liana__batch *batch, liana__error *error)
{
    liana__fit_run *fit = own->fit;
    const liana__totals *totals = fit->context.validation;
    if (own->is_bad || own->on_predictions || liana__losses_are_finite(totals)) return LIANA_OK;
    own->is_bad = true;
    liana__watched_step step = liana__fit_watched_step(fit);
    step.loader = fit->options->validation;
    /* A training that ends well because its loss is not finite is validated once more. */
    step.has_control =
        liana__callback_list_has_control(fit->options->callbacks) || (fit->context.stopping && fit->context.recovered);
    /* Of a batch that processes share, outputs are gathered, and inputs are not. */
    const bool gathered = fit->training->cluster && own->wants_outputs;
    return liana__watch_meet_validation(&step, gathered ? NULL : batch, totals, fit->context.step, error);
}

static liana_status report_validation(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    validation *own = user;
    liana_fit_context *context = &own->fit->context;
    context->wait += batch->wait_seconds;
    context->step++;
    LIANA_TRY(watch_validation(own, batch, error));
    if (own->on_predictions) LIANA_TRY(own->on_predictions(own->user, batch, outputs, error));
    context->seconds = liana__clock_seconds() - own->begin;
    context->images = context->validation->count;
    context->batch = batch;
    context->outputs = outputs;
    liana_status status = liana__fit_call(own->fit, LIANA_ON_VALIDATION_STEP);
    context->batch = NULL;
    context->outputs = NULL;
    LIANA_TRY(status);
    return context->interrupted ? liana__fail(error, LIANA_CANCELLED, "stopped while validating") : LIANA_OK;
}

static int64_t validation_steps(const liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    int64_t steps = (int64_t)liana__loader_steps_per_epoch(options->validation, 0);
    const int64_t most = options->job->validation_steps;
    return most && most < steps ? most : steps;
}

/* The totals are those of the context. */
static liana_status evaluate(liana__fit_run *fit, liana__loader *loader, validation *own, liana__totals *totals,
                             liana__error *error)
{
    bool swapped;
    own->fit = fit;
    own->begin = liana__clock_seconds();
    LIANA_TRY(begin_averages(fit, fit->context.measures_averages, &swapped, error));
    liana_status status = (own->wants_outputs ? liana__evaluate : liana__evaluate_steps)(fit->training->trainer, loader,
                                                                                         fit->context.steps, totals,
                                                                                         report_validation, own, error);
    return end_averages(fit, swapped, status, error);
}

static void begin_validation(liana_fit_context *context, const liana__totals *totals, int64_t steps)
{
    context->step = 0;
    context->steps = steps;
    context->validation = totals;
    context->seconds = context->wait = 0;
    context->images = 0;
}

static liana_status validate(liana__fit_run *fit)
{
    liana__totals_clear(&fit->validation);
    begin_validation(&fit->context, &fit->validation, validation_steps(fit));
    fit->context.wants_outputs = false;
    LIANA_TRY(liana__fit_call(fit, LIANA_ON_VALIDATION_BEGIN));
    validation progress = {.wants_outputs = fit->context.wants_outputs};
    LIANA_TRY(evaluate(fit, fit->options->validation, &progress, &fit->validation, fit->error));
    return liana__fit_call(fit, LIANA_ON_VALIDATION_END);
}

/* An evaluation that a callback asks for, at another event. */
static liana_status evaluate_besides(liana_fit_context *context, liana__loader *loader, int64_t steps, validation *own,
                                     liana__error *error)
{
    liana__fit_run *fit = context->loop;
    const liana_fit_context before = *context;
    liana__totals_clear(&fit->measured);
    begin_validation(context, &fit->measured, steps);
    liana_status status = evaluate(fit, loader, own, &fit->measured, error);
    context->step = before.step;
    context->steps = before.steps;
    context->seconds = before.seconds;
    context->wait = before.wait;
    context->images = before.images;
    context->validation = before.validation;
    context->running = before.running;
    return status;
}

liana_status liana__fit_validate(liana_fit_context *context, const liana__totals **measured, liana__error *error)
{
    liana__fit_run *fit = context->loop;
    validation progress = {0};
    *measured = &fit->measured;
    return evaluate_besides(context, fit->options->validation, validation_steps(fit), &progress, error);
}

liana_status liana__fit_predict_training(liana_fit_context *context, liana__on_predictions on_predictions, void *user,
                                         liana__error *error)
{
    liana__fit_run *fit = context->loop;
    const liana__fit_options *options = fit->options;
    liana__loader *loader = NULL;
    if (!options->open_examples) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "the training data of this fit cannot be read a second time");
    }
    LIANA_TRY(options->open_examples(options->user, &loader, error));
    const int64_t steps = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    validation progress = {.wants_outputs = true, .on_predictions = on_predictions, .user = user};
    return evaluate_besides(context, loader, steps, &progress, error);
}

static bool validates_by_steps(const liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    int64_t every = options->validation_freq_steps;
    return options->validation && every > 0 && fit->state->iteration % every == 0;
}

/* In the middle of an epoch. Out of a validation that is interrupted the epoch is left as after any update. */
static liana_status validate_between(liana__fit_run *fit)
{
    if (!validates_by_steps(fit) || fit->state->step >= fit->end_step || liana__fit_halts(fit)) return LIANA_OK;
    double begin = liana__clock_seconds();
    liana_status status = validate(fit);
    fit->training_begin += liana__clock_seconds() - begin;
    return status == LIANA_CANCELLED && fit->context.interrupted ? LIANA_OK : status;
}

/* ---- an epoch ---- */

static liana_status train_epoch(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    fit->training_begin = liana__clock_seconds();
    fit->timing = (liana__timing_epoch){0};
    bool begins = state->step == 0 && state->step < fit->end_step;
    if (begins && !liana__fit_halts(fit)) LIANA_TRY(liana__fit_call_training(fit, LIANA_ON_EPOCH_BEGIN));
    while (state->step < fit->end_step && !liana__fit_halts(fit)) {
        fit->context.wants_gradients = fit->context.wants_batches = false;
        liana_status begun = liana__fit_call_training(fit, LIANA_ON_STEP_BEGIN);
        /* Also out of a validation that a callback asked for: it is done again. */
        if (begun == LIANA_CANCELLED && fit->context.interrupted) break;
        LIANA_TRY(begun);
        if (liana__fit_halts(fit)) break;
        LIANA_TRY(fit->span.span_steps ? liana__fit_train_span(fit) : liana__fit_train_group(fit));
        fit->timing.seconds = liana__clock_seconds() - fit->training_begin;
        LIANA_TRY(liana__fit_call_training(fit, LIANA_ON_STEP_END));
        fit->training_begin += fit->context.paused;
        fit->context.paused_before += fit->context.paused;
        fit->context.paused = 0;
        fit->context.num_each = 0;
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

/* Whether the fit is as long as its options say, after a number of epochs. */
static bool is_long_enough(const liana__fit_run *fit, int64_t epochs)
{
    const int64_t most = liana__fit_most_epochs(fit->state, &fit->options->length);
    return (most && epochs >= most) || fit->state->iteration >= fit->plan.last_iteration;
}

/* At the end of an epoch, or of the fit. */
static liana_status validate_epoch(liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    const liana__training_state *state = fit->state;
    const int64_t every = options->job->validation_freq;
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
    state->gradients = (liana__span_counts){0};
    liana__totals_clear(&state->running);
}

/* The weights become their averages, unless a callback has chosen others. */
static liana_status take_averages(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    const bool changed = state->changed_after_update; /* by a control that went back */
    LIANA_TRY(liana__averaged_weights_take(fit->training, fit->error));
    if (!state->averaged || !fit->context.is_best || changed) return LIANA_OK;
    /* The best checkpoint is that of the weights which were measured. */
    LIANA_TRY(liana__averaged_weights_return(fit->training, fit->error));
    LIANA_TRY(liana__fit_save_update(&fit->context, fit->error));
    fit->context.is_best = false;
    return liana__averaged_weights_take(fit->training, fit->error);
}

/* The epoch before which the running stage is over. */
static int64_t end_of_stage(const liana__fit_run *fit)
{
    return fit->training->stages->items[fit->state->stage].end - fit->state->skipped_epochs;
}

/* Whether another stage follows this epoch. */
static bool ends_stage(const liana__fit_run *fit)
{
    const liana__training_stages *stages = fit->training->stages;
    const liana__training_state *state = fit->state;
    const bool whole = state->step >= fit->steps_per_epoch;
    return whole && stages && (size_t)state->stage + 1 < stages->count && state->epoch + 1 >= end_of_stage(fit);
}

/* The update is the last one of its kind: a control has its last word about it. */
static liana_status end_updates(liana__fit_run *fit)
{
    liana_fit_context *context = &fit->context;
    context->ends_stage = ends_stage(fit);
    context->saves_before_change = context->is_best && !fit->state->changed_after_update;
    liana_status status = liana__fit_call_training(fit, LIANA_ON_LAST_STEP);
    context->saves_before_change = false;
    return status;
}

/* Calls the callbacks that may replace the trained weights by others. */
static liana_status call_end(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    const bool changed = state->changed_after_update;
    fit->context.saves_before_change = fit->context.is_best && !changed;
    state->changed_after_update = false;
    liana_status status = liana__fit_call_training(fit, LIANA_ON_TRAIN_END);
    fit->context.saves_before_change = false;
    LIANA_TRY(status);
    const bool restored = state->changed_after_update;
    state->changed_after_update = changed || restored || state->averaged;
    return restored ? liana__averaged_weights_begin_anew(fit->training, fit->error) : LIANA_OK;
}

/* `whole`: at the end of an epoch. In the middle of one the callbacks' states and the rate factor are those from before
 * its validation, which a longer fit does again. */
static liana_status end_training(liana__fit_run *fit, bool whole)
{
    liana__training_state *state = fit->state;
    liana_fit_context *context = &fit->context;
    const bool chosen = state->changed_after_update; /* before: weights that an earlier end restored */
    LIANA_TRY(end_updates(fit));
    if (!chosen) LIANA_TRY(take_averages(fit));
    LIANA_TRY(call_end(fit));
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

static liana_status call_epoch_end(liana__fit_run *fit)
{
    bool swapped;
    LIANA_TRY(begin_averages(fit, fit->context.saves_averages, &swapped, fit->error));
    return end_averages(fit, swapped, liana__fit_call_training(fit, LIANA_ON_EPOCH_END), fit->error);
}

/* The running stage is over with this epoch: a callback wants no more of it. */
static void cut_stage(liana__fit_run *fit)
{
    liana_fit_context *context = &fit->context;
    liana__training_state *state = fit->state;
    liana__note(&fit->options->notes, "%s ended stage %lld in epoch %lld, after update %lld: %s", context->stopped_by,
                (long long)state->stage + 1, (long long)context->epoch, (long long)state->iteration, context->reason);
    state->skipped_epochs += end_of_stage(fit) - (state->epoch + 1);
    context->stops_stage = false;
    context->stopped_by[0] = context->reason[0] = '\0';
}

static liana_status finish_epoch(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    bool whole = state->step >= fit->steps_per_epoch;
    LIANA_TRY(keep_states(fit));
    LIANA_TRY(validate_epoch(fit));
    fit->context.is_best = false;
    LIANA_TRY(call_epoch_end(fit));
    if (fit->context.stopping || is_long_enough(fit, state->epoch + whole)) return end_training(fit, whole);
    if (fit->context.stops_stage) cut_stage(fit);
    if (ends_stage(fit)) LIANA_TRY(end_updates(fit));
    next_epoch(state);
    if (!fit->context.wants_checkpoint) return LIANA_OK;
    LIANA_TRY(keep_states(fit));
    return save_checkpoint(fit);
}

/* A stop on request: the work so far is kept. `validating`: the states are those from before the validation. */
static liana_status interrupt(liana__fit_run *fit, bool validating)
{
    if (validating) {
        fit->state->rate_factor = fit->kept_factor;
    } else {
        LIANA_TRY(keep_states(fit));
    }
    bool hands_over = false;
    if (fit->options->hand_over) LIANA_TRY(fit->options->hand_over(fit->options->user, &hands_over, fit->error));
    LIANA_TRY(hands_over ? save_state(fit, fit->error) : save_checkpoint(fit));
    return liana__fail(fit->error, LIANA_CANCELLED,
                       "stopped on request in epoch %lld after step %lld; --resume goes on "
                       "from there",
                       (long long)fit->state->epoch + 1, (long long)fit->state->step);
}

/* ---- before the first update ---- */

/* Before the first step of an epoch: its length, and programs for its last batch. */
static liana_status prepare_epoch(liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    const liana__training_state *state = fit->state;
    uint64_t epoch = liana__fit_data_epoch(state, state->epoch),
             length = liana__loader_epoch_length(options->training, epoch);
    int64_t left = (int64_t)(length % (uint64_t)options->job->batch_size),
            rest = fit->plan.last_iteration - state->iteration;
    fit->steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(options->training, epoch);
    fit->end_step = rest < fit->steps_per_epoch - state->step ? state->step + rest : fit->steps_per_epoch;
    return left ? liana__step_prepare(fit->training->trainer->step, left, true, fit->error) : LIANA_OK;
}

/* Compiles the sizes of batches of the validation. */
static liana_status prepare_validation(const liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    if (!options->validation) return LIANA_OK;
    const liana__job_options *job = options->job;
    int64_t size = job->validation_batch_size ? job->validation_batch_size : job->batch_size;
    int64_t length = (int64_t)liana__loader_epoch_length(options->validation, 0);
    int64_t left = length % size;
    if (left) LIANA_TRY(liana__step_prepare(fit->training->trainer->step, left, false, fit->error));
    if (length < size) return LIANA_OK;
    return liana__step_prepare(fit->training->trainer->step, size, false, fit->error);
}

/* The lengths of fit and schedule. */
static void make_plan(liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    liana__training *training = fit->training;
    fit->learning_rate = training->learning_rate;
    fit->plan = liana__fit_plan_make(fit->state, options->training, &options->length, &fit->learning_rate);
    fit->context.epochs = fit->plan.epochs;
    if (training->stages) {
        liana__fit_plan_stage(fit->state, options->training, end_of_stage(fit), &fit->learning_rate);
    }
    liana__training_set_lengths(training, &fit->learning_rate);
}

/* Before an epoch: the next stage begins if the running one is over. */
static liana_status find_stage(liana__fit_run *fit)
{
    liana__training *training = fit->training;
    const liana__training_stages *stages = training->stages;
    const size_t stage = (size_t)fit->state->stage;
    bool over = stages && fit->state->step == 0 && fit->state->epoch >= end_of_stage(fit);
    if (!over || stage + 1 == stages->count) return LIANA_OK;
    /* As at the end of a fit, the weights become their averages. */
    LIANA_TRY(liana__averaged_weights_take(training, fit->error));
    training->state.averaged = false;
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
    if (length->epochs && state->epoch >= liana__fit_most_epochs(state, length)) return true;
    if (!state->ended) return false;
    bool longer = is_raised((double)length->epochs, (double)before->epochs) ||
                  is_raised((double)length->steps, (double)before->steps) ||
                  is_raised(length->minutes, before->minutes);
    if (longer) return false;
    if (strcmp(state->stopped_by, "stop_at") == 0) return length->stop_at && time(NULL) >= (time_t)length->stop_at;
    return !*state->stopped_by || liana__callback_list_has(callbacks, state->stopped_by);
}

static liana_status begin_training(liana__fit_run *fit)
{
    const liana__fit_options *options = fit->options;
    liana__training_state *state = fit->state;
    state->ended = false;
    state->stopped_by[0] = 0;
    if (state->averaged) state->changed_after_update = false; /* only their averages are another thing */
    LIANA_TRY(liana__averaged_weights_return(fit->training, fit->error));
    LIANA_TRY(find_stage(fit));
    LIANA_TRY(prepare_epoch(fit));
    /* The rate of the last update, should the epoch be over already. */
    const int64_t applied = liana__training_state_applied(state);
    if (applied) liana__fit_set_rate(fit, applied - 1);
    LIANA_TRY(liana__callback_list_load(options->callbacks, &fit->context, &state->callbacks, fit->error));
    LIANA_TRY(liana__fit_call_training(fit, LIANA_ON_TRAIN_BEGIN));
    bool epoch_trained = state->step >= fit->steps_per_epoch;
    fit->generation = liana__cluster_generation(fit->training->cluster);
    const bool recovers = fit->watch && fit->watch->options->policy != LIANA__ON_BAD_NUMBERS_FAIL;
    LIANA_TRY(liana__fit_span_create(fit->training, options->training, &fit->learning_rate, recovers, &fit->span,
                                     fit->error));
    fit->span.seen_classes = options->seen_classes;
    fit->span.notes = options->notes;
    LIANA_TRY(liana__fit_group_create(fit));
    return liana__loader_begin(options->training, liana__fit_data_epoch(state, state->epoch + epoch_trained),
                               epoch_trained ? 0 : (uint64_t)state->step, fit->error);
}

/* Before an epoch's first update: there is nothing to validate. */
static liana_status end_before_update(liana__fit_run *fit)
{
    liana__totals_clear(&fit->validation);
    LIANA_TRY(keep_states(fit));
    return end_training(fit, false);
}

static liana_status run(liana__fit_run *fit)
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

static liana__watch *find_watch(const liana__callback_list *callbacks)
{
    for (size_t i = 0; callbacks && i < callbacks->count; i++) {
        if (callbacks->items[i].type == &liana__callback_bad_numbers) return callbacks->items[i].self;
    }
    return NULL;
}

liana_status liana__fit(liana__training *training, const liana__fit_options *options, liana__error *error)
{
    liana__fit_run fit = {.options = options,
                          .training = training,
                          .state = &training->state,
                          .error = error,
                          .context = {.training = training,
                                      .totals = &training->state.running,
                                      .validation = &liana__no_totals,
                                      .validates = options->validation != NULL,
                                      .folder = options->folder,
                                      .class_names = options->class_names,
                                      .notes = options->notes,
                                      .is_chief = liana__cluster_is_chief(training->cluster),
                                      .resumed = options->resumed,
                                      .loop = &fit,
                                      .write_model = options->write_model,
                                      .writer = options->user,
                                      .error = error}};
    LIANA_TRY(liana__check_data_of_states(training->trainer, options->training, 0, error));
    LIANA_TRY(
        liana__check_data_of_states(training->trainer, options->validation, options->job->validation_steps, error));
    LIANA_TRY(prepare_validation(&fit));
    if (liana__fit_is_over(&training->state, &options->length, options->callbacks)) return LIANA_OK;
    fit.watch = find_watch(options->callbacks);
    LIANA_TRY(liana__training_share_variables(training, error));
    make_plan(&fit);
    liana_status status = run(&fit);
    liana__totals_free(&fit.validation);
    liana__totals_free(&fit.measured);
    liana__fit_span_free(&fit.span);
    liana__fit_group_free(&fit);
    /* The callbacks may be gone before the state is. */
    liana_status kept = liana__kept_values_own(&training->state.callbacks, error);
    return status == LIANA_OK ? kept : status;
}
