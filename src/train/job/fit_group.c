/* Groups of updates (steps_per_execution). */
#include "train/job/fit_internal.h"
#include "train/objective/batch_components.h"

#include <stdlib.h>
#include <string.h>

/* ---- setting up ---- */

static int64_t batch_room(const liana__fit_run *fit)
{
    return fit->options->seen_classes ? fit->options->job->batch_size : 0;
}

static liana_status make_updates(liana__fit_run *fit, int which)
{
    liana__fit_group *own = &fit->group;
    own->filled[which].updates = calloc(own->most, sizeof *own->filled[which].updates);
    if (!own->filled[which].updates) return liana__fail_memory(fit->error, "a group of updates");
    for (size_t i = 0; batch_room(fit) && i < own->most; i++) {
        int32_t *seen = malloc((size_t)batch_room(fit) * sizeof *seen);
        if (!seen) return liana__fail_memory(fit->error, "a group of updates");
        own->filled[which].updates[i].seen = seen;
    }
    return LIANA_OK;
}

liana_status liana__fit_group_create(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    const size_t num_sums = fit->training->objective->num_sums;
    own->most = (size_t)fit->options->job->steps_per_execution;
    if (own->most > 1 && fit->span.span_steps) {
        return liana__fail(
            fit->error, LIANA_INVALID_CONFIG,
            "steps_per_execution is %zu, but the workers are not in step, and meet after as many updates "
            "as the strategy says: leave it out, or use synchronous updates of all workers",
            own->most);
    }
    own->sums = calloc(own->most * num_sums, sizeof *own->sums);
    own->made = calloc(own->most, sizeof *own->made);
    own->statuses = calloc(own->most, sizeof *own->statuses);
    own->scalars = calloc(own->most * liana__trainer_num_scalars(fit->training->trainer), sizeof *own->scalars);
    own->counts = calloc(own->most, sizeof *own->counts);
    own->launched = calloc((own->most + 1) * num_sums, sizeof *own->launched);
    if (!own->sums || !own->made || !own->statuses || !own->scalars || !own->counts || !own->launched) {
        return liana__fail_memory(fit->error, "a group of updates");
    }
    LIANA_TRY(make_updates(fit, 0));
    return make_updates(fit, 1);
}

static bool is_program(const liana__fit_run *fit)
{
    return liana__step_most_staged(fit->training->trainer->step) >= fit->group.most;
}

/* ---- filling ---- */

/* Updates that are filled and not launched are taken again later. */
static liana_status drop(liana__fit_run *fit, liana__error *error)
{
    liana__fit_group *own = &fit->group;
    own->filled[own->next].count = own->filled[own->next].num_staged = 0;
    own->data_status = LIANA_OK;
    return is_program(fit) ? liana__step_drop_staged(fit->training->trainer->step, error) : LIANA_OK;
}

void liana__fit_group_free(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    liana_status ignored = own->filled[own->next].count ? drop(fit, NULL) : LIANA_OK;
    (void)ignored;
    for (int which = 0; which < 2; which++) {
        liana__group_update *updates = own->filled[which].updates;
        for (size_t i = 0; updates && i < own->most; i++) free(updates[i].seen);
        free(updates);
    }
    free(own->sums);
    free(own->made);
    free(own->statuses);
    free(own->scalars);
    free(own->counts);
    free(own->launched);
    *own = (liana__fit_group){0};
}

static liana_status add_batch(liana__fit_run *fit, const liana__batch *batch, liana__error *error)
{
    liana__fit_group *own = &fit->group;
    liana__trainer *trainer = fit->training->trainer;
    LIANA_TRY(liana__batch_check(trainer, batch, fit->options->training, error));
    liana__group_update *update = &own->filled[own->next].updates[own->filled[own->next].count];
    update->made = (liana__update_sums){.count = batch->count, .bad_records = batch->num_positions - batch->count};
    update->wait = batch->wait_seconds;
    update->is_empty = batch->count == 0;
    update->num_seen = update->seen && batch->labels ? batch->count : 0;
    if (update->num_seen) memcpy(update->seen, batch->labels, (size_t)batch->count * sizeof *update->seen);
    if (!update->is_empty) {
        LIANA_TRY(liana__step_stage(trainer->step, batch, error));
        own->filled[own->next].num_staged++;
    }
    own->filled[own->next].count++;
    return LIANA_OK;
}

/* Takes batches until `count` updates wait. One that cannot be used is the first one's error when nothing waits before
 * it. */
static void fill(liana__fit_run *fit, int64_t count)
{
    liana__fit_group *own = &fit->group;
    liana__loader *loader = fit->options->training;
    while (own->data_status == LIANA_OK && (int64_t)own->filled[own->next].count < count) {
        liana__batch *batch;
        own->data_status = liana__loader_next(loader, &batch, &own->data_error);
        if (own->data_status != LIANA_OK) return;
        own->data_status = add_batch(fit, batch, &own->data_error);
        liana__loader_release(loader, batch);
    }
}

/* ---- an execution ---- */

static liana_status launch(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    liana__group_update *updates = own->filled[own->next].updates;
    const size_t count = own->filled[own->next].count;
    const liana__trainer *trainer = fit->training->trainer;
    const int64_t applied = liana__training_state_applied(fit->state);
    size_t staged = 0;
    for (size_t i = 0; i < count; i++) {
        liana__fit_set_rate(fit, applied + (int64_t)i);
        updates[i].made.learning_rate = fit->context.learning_rate;
        if (updates[i].is_empty) continue;
        float *scalars = own->scalars + staged * liana__trainer_num_scalars(trainer);
        own->counts[staged++] = updates[i].made.count;
        scalars[LIANA__UPDATE_COUNT] = (float)updates[i].made.count;
        liana__trainer_set_scalars(trainer, fit->context.learning_rate, applied + (int64_t)i + 1, scalars);
    }
    if (staged) LIANA_TRY(liana__step_launch(fit->training->trainer->step, own->scalars, fit->error));
    own->next ^= 1;
    own->filled[own->next].count = own->filled[own->next].num_staged = 0;
    return LIANA_OK;
}

static void take_update(liana__fit_run *fit, const liana__group_update *update, const float *sums)
{
    liana__update_sums made = update->made;
    made.sums = sums;
    for (int64_t i = 0; i < update->num_seen; i++) fit->options->seen_classes[update->seen[i]] = true;
    liana__fit_count_update(fit, &made, update->wait);
}

/* Counts the updates of the launched group that were done. *bad: the first one that was not; NULL: all were. */
static liana_status collect(liana__fit_run *fit, const liana__group_update **bad, const float **bad_sums, int *status)
{
    liana__fit_group *own = &fit->group;
    const liana__group_update *updates = own->filled[own->next ^ 1].updates;
    const size_t count = own->filled[own->next ^ 1].count, num_sums = fit->training->objective->num_sums;
    /* Behind the sums of the launched updates: those of updates without examples. */
    const float *nothing = own->launched + own->most * num_sums, *sums = own->launched;
    const int *next = own->statuses;
    *bad = NULL;
    if (own->filled[own->next ^ 1].num_staged) {
        LIANA_TRY(
            liana__step_collect(fit->training->trainer->step, own->counts, own->launched, own->statuses, fit->error));
    }
    for (size_t i = 0; i < count; i++) {
        *bad = &updates[i];
        *bad_sums = sums;
        if (!updates[i].is_empty && (*status = *next++) != LIANA__WHOLE_DONE) return LIANA_OK;
        take_update(fit, &updates[i], updates[i].is_empty ? nothing : sums);
        if (!updates[i].is_empty) sums += num_sums;
    }
    *bad = NULL;
    return LIANA_OK;
}

/* Takes the batch of an update that went bad again. Where its sums were bad nothing has changed, and it is done again
 * as the only one, which finds the fault. */
static liana_status meet_bad_update(liana__fit_run *fit, const liana__group_update *bad, const float *sums, int status)
{
    liana__loader *loader = fit->options->training;
    const liana__training_state *state = fit->state;
    liana__trainer *trainer = fit->training->trainer;
    liana__batch *batch;
    LIANA_TRY(drop(fit, fit->error));
    LIANA_TRY(
        liana__loader_begin(loader, liana__fit_data_epoch(state, state->epoch), (uint64_t)state->step, fit->error));
    LIANA_TRY(liana__loader_next(loader, &batch, fit->error));
    liana_status result;
    if (status == LIANA__WHOLE_BAD_VALUES) {
        liana__fit_set_rate(fit, liana__training_state_applied(state));
        liana__trainer_set_rate(trainer, bad->made.learning_rate);
        result = liana__step_find_fault(trainer->step, sums, fit->error);
        const bool found = liana__step_fault(trainer->step)->kind != LIANA__FAULT_NONE;
        if (result == LIANA_OUT_OF_RANGE && found) result = liana__fit_meet_bad_numbers(fit, batch);
    } else {
        result = liana__fit_step_with(fit, batch);
    }
    liana__loader_release(loader, batch);
    return result;
}

/* A snapshot is of between groups: as many updates as it can be followed by. */
static int64_t most_watched(const liana__fit_run *fit, int64_t ahead, int64_t most)
{
    if (!fit->watch) return most;
    const int64_t since = (int64_t)fit->watch->num_steps + ahead,
                  left = since >= LIANA__SNAPSHOT_STEPS ? LIANA__SNAPSHOT_STEPS : LIANA__SNAPSHOT_STEPS - since;
    return left < most ? left : most;
}

static liana_status execute(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    const int64_t most = (int64_t)own->most;
    const liana__group_update *bad;
    const float *bad_sums;
    int status = LIANA__WHOLE_DONE;
    if (fit->watch) LIANA_TRY(liana__watch_before_step(fit->watch, fit->training, fit->error));
    fill(fit, liana__fit_updates_until(fit, 0, most_watched(fit, 0, most)));
    const int64_t count = (int64_t)own->filled[own->next].count;
    if (count == 0) {
        *fit->error = own->data_error;
        return own->data_status;
    }
    LIANA_TRY(launch(fit));
    fill(fit, liana__fit_updates_until(fit, count, most_watched(fit, count, most)));
    LIANA_TRY(collect(fit, &bad, &bad_sums, &status));
    return bad ? meet_bad_update(fit, bad, bad_sums, status) : LIANA_OK;
}

/* ---- a group ---- */

static liana_status replay(liana__fit_run *fit)
{
    const liana__watched_step step = liana__fit_watched_step(fit);
    fit->replays = false;
    return liana__watch_replay(&step, fit->error);
}

/* Updates whose gradients or batches a callback reads are no part of an execution: the batches that wait for one are
 * taken again. */
static liana_status take_back(liana__fit_run *fit)
{
    const liana__fit_group *own = &fit->group;
    const liana__training_state *state = fit->state;
    if (!own->filled[own->next].count && own->data_status == LIANA_OK) return LIANA_OK;
    LIANA_TRY(drop(fit, fit->error));
    return liana__loader_begin(fit->options->training, liana__fit_data_epoch(state, state->epoch),
                               (uint64_t)state->step, fit->error);
}

/* One that was not applied ends the group: callbacks may have gone back. */
static liana_status one_by_one(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    const int64_t length = liana__fit_updates_until(fit, 0, (int64_t)own->most);
    for (int64_t i = 0; i < length && (int64_t)own->num_made == i && !fit->replays; i++) {
        LIANA_TRY(liana__fit_take_step(fit));
    }
    return LIANA_OK;
}

liana_status liana__fit_train_group(liana__fit_run *fit)
{
    liana__fit_group *own = &fit->group;
    const int64_t before = fit->state->iteration;
    own->num_made = 0;
    const bool executes = is_program(fit) && !fit->context.wants_gradients && !fit->context.wants_batches;
    liana_status status = is_program(fit) && !executes ? take_back(fit) : LIANA_OK;
    if (status == LIANA_OK) status = executes ? execute(fit) : one_by_one(fit);
    if (status == LIANA_OK && fit->replays) status = replay(fit);
    fit->context.updates = fit->state->iteration - before;
    fit->context.each = own->made;
    fit->context.num_each = own->num_made;
    return status;
}
