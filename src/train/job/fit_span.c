/* Updates of workers that are not in step. */
#include "train/job/fit_internal.h"

#include "step/spans.h"
#include "train/objective/batch_components.h"
#include "train/objective/shared_loader.h"

#include <stdlib.h>
#include <string.h>

typedef struct span_run {
    liana__fit_span *span;
    size_t num_steps;
    size_t next;         /* steps that the loader has given */
    liana__batch *batch; /* of the running one; NULL: none */
} span_run;

/* ---- setting up ---- */

static size_t find_owner(void *user, uint64_t step)
{
    return liana__span_owner(user, step);
}

static liana_status check(const liana__loader *loader, bool recovers, liana__error *error)
{
    if (liana__loader_source(loader)->streams) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the training data are a stream, which one process reads for all workers in step: use "
                           "synchronous updates of all workers");
    }
    if (!recovers) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "on_bad_numbers skips or restores updates, for which all workers must be in step: let bad numbers "
        "end the training, or use synchronous updates of all workers");
}

liana_status liana__fit_span_create(liana__training *training, liana__loader *loader, liana_learning_rate *schedule,
                                    bool recovers, liana__fit_span *own, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(training->trainer);
    const liana__strategy *strategy = options->strategy;
    *own = (liana__fit_span){.training = training, .loader = loader, .schedule = schedule};
    if (!training->cluster) return LIANA_OK;
    own->span_steps = liana__span_steps_of(strategy, options->strategy_options, training->cluster);
    if (own->span_steps == 0) return LIANA_OK;
    LIANA_TRY(check(loader, recovers, error));
    liana__input_workers workers = liana__share_input(training->cluster, liana__trainer_microbatch(training->trainer));
    workers.apart = true;
    own->generation = liana__cluster_generation(training->cluster);
    workers.owner = strategy->is_asynchronous(options->strategy_options) ? find_owner : NULL;
    liana__loader_set_workers(loader, &workers);
    own->sums = calloc(training->objective->num_sums, sizeof *own->sums);
    if (!own->sums) return liana__fail_memory(error, "the sums of updates");
    return liana__totals_create(training->objective, &own->totals, error);
}

void liana__fit_span_free(liana__fit_span *own)
{
    free(own->sums);
    liana__totals_free(&own->totals);
    own->sums = NULL;
}

/* ---- batches ---- */

static void release(span_run *own)
{
    if (own->batch) liana__loader_release(own->span->loader, own->batch);
    own->batch = NULL;
}

/* Gives the batch of a step. Those before it were not computed here. */
static liana_status take_step(span_run *own, size_t step, liana__error *error)
{
    while (own->next <= step) {
        release(own);
        LIANA_TRY(liana__loader_next(own->span->loader, &own->batch, error));
        own->span->wait += own->batch->wait_seconds;
        own->next++;
    }
    return LIANA_OK;
}

/* After a death others have the shares of the dead. */
static liana_status follow_cluster(void *user, uint64_t *generation, liana__error *error)
{
    span_run *own = user;
    liana__fit_span *span = own->span;
    const liana__training_state *state = &span->training->state;
    *generation = liana__cluster_generation(span->training->cluster);
    if (*generation == span->generation) return LIANA_OK;
    release(own);
    span->generation = *generation;
    own->next = 0;
    return liana__loader_begin(span->loader, liana__fit_data_epoch(state, state->epoch), (uint64_t)state->step, error);
}

static liana_status next_batch(void *user, const liana__span_try *attempt, size_t step, const liana__batch **batch,
                               liana__error *error)
{
    span_run *own = user;
    const liana__fit_span *span = own->span;
    (void)attempt;
    LIANA_TRY(take_step(own, step, error));
    *batch = own->batch;
    if (own->batch->count == 0) return LIANA_OK;
    return liana__batch_check(span->training->trainer, own->batch, span->loader, error);
}

static void see_classes(void *user, const liana__batch *batch)
{
    bool *seen = ((const span_run *)user)->span->seen_classes;
    for (int64_t i = 0; seen && batch->labels && i < batch->count; i++) seen[batch->labels[i]] = true;
}

/* Servers, and workers that came late, go on in the data as well. */
static liana_status take_last(void *user, liana__error *error)
{
    span_run *own = user;
    return take_step(own, own->num_steps - 1, error);
}

/* ---- updates ---- */

static liana_status set_scalars(void *user, size_t update, float *scalars, liana__error *error)
{
    const span_run *own = user;
    const liana__training_state *state = &own->span->training->state;
    const int64_t applied = liana__training_state_applied(state) + (int64_t)update;
    (void)error;
    const double rate = liana__training_rate(own->span->training, own->span->schedule, applied) * state->rate_factor;
    liana__trainer_set_scalars(own->span->training->trainer, rate, applied + 1, scalars);
    return LIANA_OK;
}

static void add_record(void *user, size_t step, const liana__span_record *record, const float *sums)
{
    const span_run *own = user;
    (void)step;
    liana__totals_add(&own->span->training->state.running, sums, record->count, record->missing);
    liana__totals_add(&own->span->totals, sums, record->count, record->missing);
}

liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error)
{
    span_run run = {.span = own, .num_steps = num_steps};
    const liana__step_span span = {.num_steps = num_steps,
                                   .turn = (uint64_t)own->training->state.step,
                                   .notes = &own->notes,
                                   .begin = follow_cluster,
                                   .next = next_batch,
                                   .used = see_classes,
                                   .scalars = set_scalars,
                                   .end = take_last,
                                   .add = add_record,
                                   .user = &run};
    liana__span_result result = {0};
    own->wait = 0;
    liana__totals_clear(&own->totals);
    const liana_status status = liana__step_run_span(own->training->trainer->step, &span, &result, error);
    release(&run);
    LIANA_TRY(status);
    liana__span_counts_add(&own->training->state.gradients, &result.counts);
    for (size_t i = 0; i < own->totals.objective->num_sums; i++) own->sums[i] = (float)own->totals.sums[i];
    return LIANA_OK;
}
