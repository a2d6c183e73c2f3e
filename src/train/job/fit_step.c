/* The updates of a fit, one by one, and those of workers that are not in step. */
#include "train/job/fit_internal.h"
#include "train/objective/batch_components.h"

#include <string.h>

/* ---- callbacks ---- */

const liana__totals liana__no_totals;

liana_status liana__fit_call(liana__fit_run *fit, liana_callback_event event)
{
    fit->context.epoch = fit->state->epoch + 1;
    fit->context.is_chief = liana__cluster_is_chief(fit->training->cluster);
    return liana__callback_list_call(fit->options->callbacks, event, &fit->context, fit->error);
}

liana_status liana__fit_call_training(liana__fit_run *fit, liana_callback_event event)
{
    liana_fit_context *context = &fit->context;
    context->step = fit->state->step;
    context->steps = fit->end_step;
    context->seconds = fit->timing.seconds;
    context->wait = fit->timing.wait;
    context->images = fit->timing.images;
    bool validated = event == LIANA_ON_EPOCH_END || event == LIANA_ON_LAST_STEP || event == LIANA_ON_TRAIN_END;
    context->validation = validated ? &fit->validation : &liana__no_totals;
    return liana__fit_call(fit, event);
}

/* ---- an update ---- */

void liana__fit_set_rate(liana__fit_run *fit, int64_t applied)
{
    fit->context.scheduled_rate = liana__training_rate(fit->training, &fit->learning_rate, applied);
    fit->context.learning_rate = fit->context.scheduled_rate * fit->state->rate_factor;
}

liana__watched_step liana__fit_watched_step(const liana__fit_run *fit)
{
    return (liana__watched_step){.watch = fit->watch,
                                 .training = fit->training,
                                 .loader = fit->options->training,
                                 .data_epoch = liana__fit_data_epoch(fit->state, fit->state->epoch),
                                 .notes = &fit->context.notes,
                                 .update = liana__training_state_applied(fit->state) + 1,
                                 .learning_rate = fit->context.learning_rate};
}

/* The update counts as done, but not for the sums of the epoch, if a callback knows a state to go back to. */
static liana_status recover(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    const bool changed = state->changed_after_update;
    fit->context.recovered = false;
    state->changed_after_update = false;
    state->iteration++;
    state->step++;
    LIANA_TRY(liana__fit_call_training(fit, LIANA_ON_DIVERGENCE));
    if (fit->context.recovered) {
        fit->group.num_made = 0;
        return LIANA_OK;
    }
    state->changed_after_update = changed;
    state->iteration--;
    state->step--;
    return LIANA_OK;
}

liana_status liana__fit_meet_bad_numbers(liana__fit_run *fit, const liana__batch *batch)
{
    LIANA_TRY(recover(fit));
    if (fit->context.recovered) return LIANA_OK;
    const bool spoilt = liana__step_fault(fit->training->trainer->step)->kind == LIANA__FAULT_UPDATE;
    fit->replays = spoilt && liana__watch_can_replay(fit->watch);
    if (fit->replays) return LIANA_OK;
    const liana__watched_step step = liana__fit_watched_step(fit);
    return liana__watch_meet(&step, batch, fit->error);
}

static void watch_good_step(const liana__fit_run *fit, const liana__update_sums *made)
{
    const double loss = made->count ? (double)made->sums[0] / (double)made->count : 0;
    const int64_t update = liana__training_state_applied(fit->state) + 1;
    if (fit->watch) liana__watch_after_step(fit->watch, update, made->learning_rate, loss);
}

void liana__fit_count_update(liana__fit_run *fit, const liana__update_sums *made, double wait)
{
    liana__training_state *state = fit->state;
    liana__fit_group *group = &fit->group;
    const size_t num_sums = fit->training->objective->num_sums;
    watch_good_step(fit, made);
    liana__totals_add(&state->running, made->sums, made->count, made->bad_records);
    liana__update_sums *kept = &group->made[group->num_made];
    float *sums = group->sums + group->num_made++ * num_sums;
    memcpy(sums, made->sums, num_sums * sizeof *sums);
    *kept = *made;
    kept->sums = sums;
    state->changed_after_update = false;
    state->iteration++;
    state->step++;
    fit->timing.images += made->count;
    fit->timing.wait += wait;
}

/* What callbacks asked for at the begin of the step. */
static liana_status show_batch(liana__fit_run *fit, const liana__batch *batch)
{
    liana_fit_context *context = &fit->context;
    liana_status status = LIANA_OK;
    if (context->wants_batches) {
        context->batch = batch;
        status = liana__fit_call_training(fit, LIANA_ON_BATCH);
        context->batch = NULL;
    }
    if (status != LIANA_OK || !context->wants_gradients) return status;
    return liana__step_sum_gradients(fit->training->trainer->step, batch, fit->error);
}

liana_status liana__fit_step_with(liana__fit_run *fit, const liana__batch *batch)
{
    liana__cluster *cluster = fit->training->cluster;
    const liana__fit_options *options = fit->options;
    const liana__trainer *trainer = fit->training->trainer;
    LIANA_TRY(liana__batch_check(trainer, batch, options->training, fit->error));
    const float *sums;
    const int64_t applied = liana__training_state_applied(fit->state);
    liana__fit_set_rate(fit, applied);
    liana_status status = show_batch(fit, batch);
    if (status == LIANA_OK) {
        status = liana__trainer_step(fit->training->trainer, batch, fit->context.learning_rate, applied + 1, &sums,
                                     fit->error);
    }
    const bool went_bad = liana__step_fault(trainer->step)->kind != LIANA__FAULT_NONE;
    if (status == LIANA_OK || went_bad) status = liana__cluster_section_leave(cluster, status, fit->error);
    if (status == LIANA_OUT_OF_RANGE && went_bad) return liana__fit_meet_bad_numbers(fit, batch);
    LIANA_TRY(status);
    fit->context.learning_rate = liana__training_keep_rate(fit->training, fit->context.learning_rate);
    for (int64_t i = 0; options->seen_classes && batch->labels && i < batch->count; i++) {
        options->seen_classes[batch->labels[i]] = true;
    }
    const int64_t count = liana__batch_step_count(batch);
    const liana__update_sums made = {sums, count, batch->num_positions - count, fit->context.learning_rate};
    liana__fit_count_update(fit, &made, batch->wait_seconds);
    return LIANA_OK;
}

/* After a death others have the shards of the dead: from the step on that is to be done. */
static liana_status follow_cluster(liana__fit_run *fit)
{
    const liana__training_state *state = fit->state;
    const uint64_t generation = liana__cluster_generation(fit->training->cluster);
    if (generation == fit->generation) return LIANA_OK;
    fit->generation = generation;
    return liana__loader_begin(fit->options->training, liana__fit_data_epoch(state, state->epoch),
                               (uint64_t)state->step, fit->error);
}

liana_status liana__fit_take_step(liana__fit_run *fit)
{
    liana__cluster *cluster = fit->training->cluster;
    liana__loader *loader = fit->options->training;
    liana_status status;
    do {
        liana__batch *batch;
        if (fit->watch) LIANA_TRY(liana__watch_before_step(fit->watch, fit->training, fit->error));
        LIANA_TRY(follow_cluster(fit));
        liana__cluster_section_begin(cluster);
        status = liana__loader_next(loader, &batch, fit->error);
        if (status == LIANA_OK) {
            status = liana__fit_step_with(fit, batch);
            liana__loader_release(loader, batch);
        }
    } while (liana__cluster_repeats(cluster, &status, fit->error));
    return status;
}

bool liana__fit_halts(const liana__fit_run *fit)
{
    return fit->context.stopping || fit->context.interrupted;
}

int64_t liana__fit_updates_until(const liana__fit_run *fit, int64_t ahead, int64_t most)
{
    const liana__training_state *state = fit->state;
    int64_t length = fit->end_step - state->step - ahead;
    const int64_t every = fit->options->validation_freq_steps;
    if (length > most) length = most;
    if (!fit->options->validation || every <= 0) return length;
    const int64_t until = every - (state->iteration + ahead) % every;
    return until < length ? until : length;
}

/* ---- workers that are not in step ---- */

liana_status liana__fit_train_span(liana__fit_run *fit)
{
    liana__training_state *state = fit->state;
    liana__fit_span *span = &fit->span;
    const int64_t length = liana__fit_updates_until(fit, 0, (int64_t)span->span_steps);
    LIANA_TRY(liana__fit_span_run(span, (size_t)length, fit->error));
    liana__fit_set_rate(fit, liana__training_state_applied(state) + length - 1);
    fit->group.made[0] =
        (liana__update_sums){span->sums, span->totals.count, span->totals.bad_records, fit->context.learning_rate};
    fit->context.each = fit->group.made;
    fit->context.num_each = 1;
    state->changed_after_update = false;
    state->iteration += length;
    state->step += length;
    fit->context.updates = length;
    fit->timing.images += span->totals.count;
    fit->timing.wait += span->wait;
    return LIANA_OK;
}
