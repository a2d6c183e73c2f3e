/* Snapshots, replaying, and the policy. */
#include "train/callbacks/watch.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "distribute/cluster/held.h"
#include "train/objective/batch_components.h"
#include "train/training/bundle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- copies of all variables ---- */

static void free_values(void **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++) free(values[i]);
    free(values);
}

static liana_status allocate_values(const liana__variables *variables, void ***values, liana__error *error)
{
    *values = calloc(variables->count + 1, sizeof **values);
    bool enough = *values != NULL;
    for (size_t i = 0; enough && i < variables->count; i++) {
        /* Zeroed. Values of other processes are not read, so they use no memory. */
        (*values)[i] = calloc(1, variables->items[i].buffer->size + 1);
        enough = (*values)[i] != NULL;
    }
    if (enough) return LIANA_OK;
    free_values(*values, variables->count);
    *values = NULL;
    return liana__fail_memory(error, "a copy of the weights");
}

/* `whole`: also the values of other processes. */
static liana_status read_values(const liana__variables *variables, bool whole, void **values, liana__error *error)
{
    for (size_t i = 0; i < variables->count; i++) {
        const liana__variable *variable = &variables->items[i];
        LIANA_TRY(whole ? liana__variable_read(variable, values[i], error)
                        : liana__variable_read_own(variable, values[i], error));
    }
    return LIANA_OK;
}

static liana_status write_values(liana__variables *variables, void *const *values, liana__error *error)
{
    for (size_t i = 0; i < variables->count; i++) {
        LIANA_TRY(liana__variable_write(&variables->items[i], values[i], error));
    }
    return LIANA_OK;
}

static bool are_finite(const liana__variables *variables, void *const *values)
{
    for (size_t i = 0; i < variables->count; i++) {
        const liana__buffer *buffer = variables->items[i].buffer;
        const float *floats = values[i];
        const size_t count = buffer->dtype == LIANA_F32 ? buffer->size / sizeof *floats : 0;
        float product = 0; /* NaN as soon as one number is not finite */
        for (size_t k = 0; k < count; k++) product += floats[k] * 0;
        if (!(product == 0)) return false;
    }
    return true;
}

/* ---- the snapshot ---- */

void liana__watch_free(liana__watch *watch)
{
    free_values(watch->values, watch->num_values);
    free_values(watch->unfit, watch->num_values);
    for (size_t i = 0; i < watch->num_retired; i++) free_values(watch->retired[i].values, watch->retired[i].count);
    free(watch->retired);
    free(watch->sizes);
    *watch = (liana__watch){.options = watch->options};
}

static void begin_here(liana__watch *watch, const liana__training_state *state)
{
    watch->epoch = state->epoch;
    watch->step = state->step;
    watch->applied = liana__training_state_applied(state);
    watch->num_steps = 0;
    watch->reaches = true;
}

bool liana__watch_fits(const liana__watch *watch, const liana__variables *variables)
{
    if (!watch->values) return true;
    bool fits = watch->num_values == variables->count;
    for (size_t i = 0; fits && i < variables->count; i++) fits = watch->sizes[i] == variables->items[i].buffer->size;
    return fits;
}

liana_status liana__watch_reserve(liana__watch *watch, const liana__variables *variables, liana__error *error)
{
    if (watch->values) return LIANA_OK;
    free(watch->sizes);
    watch->sizes = calloc(variables->count + 1, sizeof *watch->sizes);
    if (!watch->sizes) return liana__fail_memory(error, "a copy of the weights");
    for (size_t i = 0; i < variables->count; i++) watch->sizes[i] = variables->items[i].buffer->size;
    watch->num_values = variables->count;
    return allocate_values(variables, &watch->values, error);
}

/* Puts the snapshot of an earlier stage aside. */
static liana_status retire(liana__watch *watch, liana__error *error)
{
    if (!liana__grow(&watch->retired, watch->num_retired, &watch->retired_capacity, sizeof *watch->retired)) {
        return liana__fail_memory(error, "a copy of the weights");
    }
    watch->retired[watch->num_retired++] = (struct liana__retired){watch->values, watch->num_values};
    watch->values = NULL;
    watch->reaches = false;
    return LIANA_OK;
}

/* Saved states refer to the values (liana__kept_array), so whole ones stay in their place. Others change places with
 * the old ones: a copy would need memory for the slices of other processes. */
static liana_status keep(liana__watch *watch, const liana__variables *variables, bool whole, void **values,
                         liana__error *error)
{
    LIANA_TRY(liana__watch_reserve(watch, variables, error));
    for (size_t i = 0; i < watch->num_values; i++) {
        if (whole) {
            memcpy(watch->values[i], values[i], watch->sizes[i]);
        } else {
            void *old = watch->values[i];
            watch->values[i] = values[i];
            values[i] = old;
        }
    }
    return LIANA_OK;
}

/* Whether numbers are bad anywhere. Processes may hear of a death at different places: the chief says when this was. */
static liana_status agree(liana__watch *watch, liana__cluster *cluster, bool *bad, liana__error *error)
{
    LIANA_TRY(liana__cluster_agree(cluster, bad, error));
    watch->generation = liana__cluster_generation(cluster);
    return liana__cluster_follow_chief(cluster, &watch->generation, sizeof watch->generation, error);
}

/* A state with bad numbers is never restored: the snapshot before it stays. */
static liana_status take(liana__watch *watch, liana__training *training, liana__error *error)
{
    const liana__variables *variables = &training->variables;
    void **values;
    free_values(watch->unfit, watch->num_values);
    watch->unfit = NULL;
    if (!liana__watch_fits(watch, variables)) LIANA_TRY(retire(watch, error));
    LIANA_TRY(allocate_values(variables, &values, error));
    /* A snapshot that goes into checkpoints is whole; else each process keeps its own slices. */
    const bool whole = watch->options->policy == LIANA__ON_BAD_NUMBERS_RESTORE;
    liana_status status = read_values(variables, whole, values, error);
    bool bad = status == LIANA_OK && !are_finite(variables, values);
    if (status == LIANA_OK && training->cluster) status = agree(watch, training->cluster, &bad, error);
    watch->reaches = status == LIANA_OK && !bad;
    if (status == LIANA_OK && !watch->reaches) {
        watch->unfit = values;
        watch->num_values = variables->count;
        return LIANA_OK;
    }
    if (watch->reaches) status = keep(watch, variables, whole, values, error);
    free_values(values, variables->count);
    LIANA_TRY(status);
    begin_here(watch, &training->state);
    if (watch->options->policy == LIANA__ON_BAD_NUMBERS_RESTORE) watch->in_row = 0;
    return LIANA_OK;
}

liana_status liana__watch_before_step(liana__watch *watch, liana__training *training, liana__error *error)
{
    const liana__training_state *state = &training->state;
    const bool follows = watch->values && watch->reaches &&
                         watch->generation == liana__cluster_generation(training->cluster) &&
                         watch->epoch == state->epoch && state->step == watch->step + (int64_t)watch->num_steps;
    if (follows && !state->changed_after_update && watch->num_steps < LIANA__SNAPSHOT_STEPS) return LIANA_OK;
    do { /* Once more if another generation has begun since the chief said which one it is. */
        LIANA_TRY(take(watch, training, error));
    } while (training->cluster && watch->generation != liana__cluster_generation(training->cluster));
    return LIANA_OK;
}

static void add_step(liana__watch *watch, int64_t update, double learning_rate)
{
    if (watch->num_steps == LIANA__SNAPSHOT_STEPS) return;
    watch->rates[watch->num_steps] = learning_rate;
    watch->updates[watch->num_steps++] = update;
}

void liana__watch_after_step(liana__watch *watch, int64_t update, double learning_rate, double loss)
{
    add_step(watch, update, learning_rate);
    if (watch->num_losses == LIANA__WATCHED_LOSSES) {
        memmove(watch->losses, watch->losses + 1, (LIANA__WATCHED_LOSSES - 1) * sizeof *watch->losses);
        watch->num_losses--;
    }
    watch->losses[watch->num_losses++] = loss;
    if (watch->options->policy == LIANA__ON_BAD_NUMBERS_SKIP) watch->in_row = 0;
}

/* ---- explaining ---- */

/* The step as the last one whose sums can be read. */
static liana_status train_with_sums(const liana__watched_step *step, const liana__batch *batch, liana__error *error)
{
    return liana__trainer_step_by_parts(step->training->trainer, batch, step->learning_rate, step->update, error);
}

/* The finding about a bad step, as a sentence. */
typedef struct explanation {
    liana__text text;
    const char *hint;
} explanation;

static void explanation_free(explanation *why)
{
    liana__text_free(&why->text);
}

static const char RATE_IS_ZERO[] =
    "the learning rate is 0, and the optimizer divides by it; use a schedule that stays above 0";
static const char DIVERGED[] = "try a smaller learning rate or a warm-up";

static const char *hint_of(const liana__incident *incident)
{
    const char *kind = liana__value_text_of(incident->finding, "kind", "");
    const bool of_shard = incident->num_rows > 0;
    if (strcmp(kind, "variable") == 0) return "these weights were bad before this step; look at where they come from";
    if (strcmp(kind, "input") == 0 && of_shard) return "check these data, or filter them";
    return DIVERGED;
}

static void write_bundle(const liana__watch *watch, liana__incident *incident, liana__text *text)
{
    const char *path = NULL;
    liana__error error = {0};
    if (!watch || !watch->options->folder) return;
    if (liana__bundle_write(incident, watch->options->folder, &path, &error) != LIANA_OK) {
        liana__text_add(text, "; no bundle was written: %s", error.message);
    } else if (path) {
        liana__text_add(text, "; 'liana replay %s' runs it again", path);
    } else {
        liana__text_add(text, "; no bundle was written: there are %d already", LIANA__MOST_BUNDLES);
    }
}

/* Nothing that fails here hides the fault itself. */
static explanation explain(const liana__bad_step *bad, const liana__fault *fault, const liana__watch *watch)
{
    explanation made = {.hint = DIVERGED};
    LIANA__SCOPED(liana__incident) incident = {0};
    liana__error error = {0};
    /* No process has all examples of a step that is shared. */
    if (bad->batch->workers) return made;
    if (liana__incident_collect(bad, fault, &incident, &error) == LIANA_OK) {
        liana__text_add(&made.text, ": ");
        liana__incident_tell(&incident, &made.text);
        made.hint = hint_of(&incident);
        if (fault->kind == LIANA__FAULT_UPDATE && bad->learning_rate == 0) made.hint = RATE_IS_ZERO;
        write_bundle(watch, &incident, &made.text);
    } else {
        liana__text_add(&made.text, " (it could not be run again node by node: %s)", error.message);
    }
    return made;
}

static liana__bad_step bad_step_of(const liana__watched_step *step, const liana__batch *batch)
{
    const liana__training_state *state = &step->training->state;
    const liana__watch *watch = step->watch;
    return (liana__bad_step){.training = step->training,
                             .batch = batch,
                             .epoch = state->epoch + 1,
                             .step = state->step + 1,
                             .update = state->iteration + 1,
                             .applied = step->update,
                             .learning_rate = step->learning_rate,
                             .losses = watch ? watch->losses : NULL,
                             .num_losses = watch ? watch->num_losses : 0,
                             .source = liana__loader_source(step->loader)};
}

/* ---- the policy ---- */

static liana_status fail(const liana__watched_step *step, const char *fault, const explanation *why, const char *reason,
                         liana__error *error)
{
    const liana__training_state *state = &step->training->state;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "%s at epoch %lld, step %lld (learning rate %g): training has diverged%s%s; %s", fault,
                       (long long)state->epoch + 1, (long long)state->step + 1, step->learning_rate,
                       why->text.data ? why->text.data : "", reason, why->hint);
}

static void note_policy(const liana__watched_step *step, const char *fault, const explanation *why, const char *what)
{
    const liana__training_state *state = &step->training->state;
    liana__note(step->notes, "%s at epoch %lld, step %lld (learning rate %g)%s; %s", fault, (long long)state->epoch + 1,
                (long long)state->step + 1, step->learning_rate, why->text.data ? why->text.data : "", what);
}

/* The step counts as done, without an update. */
static void count_step(const liana__watched_step *step)
{
    liana__training_state *state = &step->training->state;
    state->changed_after_update = false;
    state->iteration++;
    state->taken_back++;
    state->step++;
    add_step(step->watch, step->update, NAN);
}

static liana_status restore(const liana__watched_step *step, liana__error *error)
{
    liana__watch *watch = step->watch;
    liana__training *training = step->training;
    LIANA_TRY(write_values(&training->variables, watch->values, error));
    training->state.taken_back = training->state.iteration - training->state.stage_updates - watch->applied;
    training->state.rate_factor *= watch->options->rate_factor;
    begin_here(watch, &training->state);
    watch->restored++;
    return LIANA_OK;
}

/* The variables are those of before the update. */
static liana_status apply_policy(const liana__watched_step *step, const char *fault, const explanation *why,
                                 liana__error *error)
{
    liana__watch *watch = step->watch;
    if (!watch || watch->options->policy == LIANA__ON_BAD_NUMBERS_FAIL) return fail(step, fault, why, "", error);
    const bool restores = watch->options->policy == LIANA__ON_BAD_NUMBERS_RESTORE;
    if (++watch->in_row > watch->options->most) {
        return fail(step, fault, why,
                    restores ? "; it went bad again after the last good state was restored as often as is allowed"
                             : "; as many updates in a row as are allowed were skipped before it",
                    error);
    }
    if (restores && !watch->values) return fail(step, fault, why, "; there is no good state to go back to", error);
    note_policy(step, fault, why,
                restores ? "the last good state is restored, with a smaller learning rate" : "the update is skipped");
    count_step(step);
    if (restores) return restore(step, error);
    watch->skipped++;
    return LIANA_OK;
}

static liana_status explain_and_apply(const liana__watched_step *step, const liana__bad_step *bad,
                                      const liana__fault *fault, liana__error *error)
{
    char text[640];
    LIANA__SCOPED(explanation) why = explain(bad, fault, step->watch);
    /* The values that the update has overwritten. */
    if (bad->before) LIANA_TRY(write_values(&step->training->variables, (void *const *)bad->user, error));
    return apply_policy(step, liana__fault_describe(fault, text, sizeof text), &why, error);
}

static const void *value_before(const void *user, size_t variable)
{
    return ((void *const *)user)[variable];
}

liana_status liana__watch_meet(const liana__watched_step *step, const liana__batch *batch, liana__error *error)
{
    const liana__trainer *trainer = step->training->trainer;
    const liana__fault fault = *liana__step_fault(trainer->step);
    liana__bad_step bad = bad_step_of(step, batch);
    const bool unfit = step->watch && step->watch->unfit;
    if (fault.kind == LIANA__FAULT_UPDATE) {
        const explanation none = {.hint = DIVERGED};
        char text[640];
        if (!unfit) return fail(step, liana__fault_describe(&fault, text, sizeof text), &none, "", error);
        LIANA_TRY(write_values(&step->training->variables, step->watch->unfit, error));
        liana_status again = train_with_sums(step, batch, error);
        if (again != LIANA_OK && liana__step_fault(trainer->step)->kind == LIANA__FAULT_NONE) return again;
        bad.before = value_before;
        bad.user = step->watch->unfit;
    }
    return explain_and_apply(step, &bad, &fault, error);
}

/* Why the loss of a batch of a validation is not finite. */
static explanation explain_validation(const liana__watched_step *step, const liana__batch *batch,
                                      const liana__fault *fault, int64_t number)
{
    liana__bad_step bad = bad_step_of(step, batch);
    bad.of_validation = true;
    bad.step = number;
    bad.update = step->training->state.iteration;
    return explain(&bad, fault, step->watch);
}

liana_status liana__watch_meet_validation(const liana__watched_step *step, const liana__batch *batch,
                                          const liana__totals *totals, int64_t number, liana__error *error)
{
    const liana__fault fault = liana__fault_of_validation(totals);
    const liana__watch *watch = step->watch;
    const long long epoch = step->training->state.epoch + 1;
    char text[640];
    LIANA__SCOPED(explanation) why = {.hint = DIVERGED};
    if (batch) why = explain_validation(step, batch, &fault, number);
    if (strcmp(why.hint, DIVERGED) == 0) why.hint = "the weights are finite, so look at these data first";
    const bool goes_on = step->has_control || (watch && watch->options->policy != LIANA__ON_BAD_NUMBERS_FAIL);
    const char *found = why.text.data ? why.text.data : "";
    liana__fault_describe(&fault, text, sizeof text);
    if (goes_on) {
        liana__note(step->notes, "%s in epoch %lld, batch %lld of the validation%s; %s", text, epoch, (long long)number,
                    found, why.hint);
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s in epoch %lld, batch %lld of the validation%s; %s", text, epoch,
                       (long long)number, found, why.hint);
}

liana_status liana__watch_explain(liana__training *training, const liana__batch *batch, double learning_rate,
                                  liana__error *error)
{
    const liana__fault fault = *liana__step_fault(training->trainer->step);
    const liana__bad_step bad = {.training = training,
                                 .batch = batch,
                                 .epoch = 1,
                                 .step = 1,
                                 .update = training->state.iteration + 1,
                                 .applied = training->state.iteration + 1,
                                 .learning_rate = learning_rate};
    char text[640];
    LIANA__SCOPED(explanation) why = {.hint = "try a smaller learning rate"};
    if (fault.kind != LIANA__FAULT_UPDATE) why = explain(&bad, &fault, NULL);
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s (learning rate %g): training has diverged%s; %s",
                       liana__fault_describe(&fault, text, sizeof text), learning_rate,
                       why.text.data ? why.text.data : "", why.hint);
}

/* ---- replaying ---- */

bool liana__watch_can_replay(const liana__watch *watch)
{
    return watch && watch->values && watch->reaches;
}

/* One step again. */
static liana_status train_again(const liana__watched_step *step, const liana__batch *batch, double learning_rate,
                                int64_t update, liana__error *error)
{
    const float *sums;
    return liana__trainer_step(step->training->trainer, batch, learning_rate, update, &sums, error);
}

/* From the snapshot to the weights before the bad step. */
static liana_status go_there(const liana__watched_step *step, liana__error *error)
{
    const liana__watch *watch = step->watch;
    LIANA_TRY(write_values(&step->training->variables, watch->values, error));
    LIANA_TRY(liana__loader_begin(step->loader, step->data_epoch, (uint64_t)watch->step, error));
    for (size_t i = 0; i < watch->num_steps; i++) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(step->loader, &batch, error));
        liana_status status = LIANA_OK;
        if (!isnan(watch->rates[i])) status = train_again(step, batch, watch->rates[i], watch->updates[i], error);
        liana__loader_release(step->loader, batch);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

static liana_status meet_again(const liana__watched_step *step, const liana__batch *batch, void **before,
                               liana__error *error)
{
    liana_status status = train_with_sums(step, batch, error);
    const liana__fault fault = *liana__step_fault(step->training->trainer->step);
    if (status == LIANA_OK || fault.kind != LIANA__FAULT_UPDATE) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "epoch %lld, step %lld: the update gave weights that are not finite, and did not when the "
                           "steps since the last snapshot were done again; do the data differ from time to time?",
                           (long long)step->training->state.epoch + 1, (long long)step->training->state.step + 1);
    }
    liana__bad_step bad = bad_step_of(step, batch);
    bad.before = value_before;
    bad.user = before;
    return explain_and_apply(step, &bad, &fault, error);
}

liana_status liana__watch_replay(const liana__watched_step *step, liana__error *error)
{
    void **before = NULL;
    liana__batch *batch;
    LIANA_TRY(go_there(step, error));
    LIANA_TRY(allocate_values(&step->training->variables, &before, error));
    liana_status status = read_values(&step->training->variables, false, before, error);
    if (status == LIANA_OK) status = liana__loader_next(step->loader, &batch, error);
    if (status == LIANA_OK) {
        status = meet_again(step, batch, before, error);
        liana__loader_release(step->loader, batch);
    }
    free_values(before, step->training->variables.count);
    return status;
}
