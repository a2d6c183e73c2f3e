/* Updates of workers that are not in step. */
#include "train/fit/fit_span.h"

#include "data/loader/cut.h"
#include "train/core/batch_components.h"
#include "train/core/worker_share.h"

#include <stdlib.h>
#include <string.h>

/* What a worker's gradients were of, before the sums of loss and metrics. */
typedef struct record {
    uint64_t step;
    int64_t count, missing;
} record;

typedef struct span_run {
    liana__fit_span *span;
    size_t num_steps, next; /* steps that the loader has given */
    liana__batch *batch;    /* of the running one; NULL: none */
    liana__text records;    /* of this process: each a record and its sums */
} span_run;

/* ---- setting up ---- */

/* Step s of an epoch, asynchronously. */
static size_t find_owner(void *user, uint64_t step)
{
    const liana__cluster *cluster = user;
    return (size_t)(step % cluster->place.num_workers);
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

liana_status liana__fit_span_create(liana__training *training, liana__loader *loader, liana__learning_rate *schedule,
                                    bool recovers, liana__fit_span *own, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(training->trainer);
    const liana__strategy *strategy = options->strategy;
    *own = (liana__fit_span){.training = training, .loader = loader, .schedule = schedule};
    if (!training->cluster || !strategy || !strategy->span_steps) return LIANA_OK;
    own->span_steps = strategy->span_steps(options->strategy_options, training->cluster->place.num_workers);
    if (own->span_steps == 0) return LIANA_OK;
    LIANA_TRY(check(loader, recovers, error));
    own->microbatch = liana__trainer_microbatch(training->trainer);
    liana__input_workers workers = liana__share_input(training->cluster, own->microbatch);
    workers.apart = true;
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

static liana_status next_batch(void *user, size_t step, liana__trainer_batch *batch, liana__error *error)
{
    span_run *own = user;
    const liana__fit_span *span = own->span;
    const liana__trainer *trainer = span->training->trainer;
    LIANA_TRY(take_step(own, step, error));
    if (own->batch->count > 0) {
        LIANA_TRY(liana__batch_check(trainer, own->batch, liana__loader_source(span->loader), error));
    }
    *batch = liana__trainer_batch_of(trainer, own->batch);
    return LIANA_OK;
}

/* The positions that this process makes of the running step. */
static int64_t own_positions(const span_run *own)
{
    const liana__step_workers *step = own->batch->workers;
    const liana__cut cut = liana__cut_batch(own->batch->num_positions, own->span->microbatch);
    int64_t count = 0;
    for (int64_t i = step->bounds[step->self]; i < step->bounds[step->self + 1]; i++) count += liana__cut_size(&cut, i);
    return count;
}

static liana_status keep_sums(void *user, size_t step, const float *sums, liana__error *error)
{
    span_run *own = user;
    const liana__batch *batch = own->batch;
    const record made = {step, batch->count, own_positions(own) - batch->count};
    liana__text_add_bytes(&own->records, (const char *)&made, sizeof made);
    liana__text_add_bytes(&own->records, (const char *)sums, own->span->totals.objective->num_sums * sizeof *sums);
    bool *seen = own->span->seen_classes;
    for (int64_t i = 0; seen && batch->labels && i < batch->count; i++) seen[batch->labels[i]] = true;
    return own->records.failed ? liana__fail_memory(error, "the sums of updates") : LIANA_OK;
}

static double find_rate(void *user, size_t update, int64_t *iteration)
{
    const span_run *own = user;
    const liana__training_state *state = &own->span->training->state;
    const int64_t applied = liana__training_state_applied(state) + (int64_t)update;
    *iteration = applied + 1;
    return liana__training_rate(own->span->training, own->span->schedule, applied) * state->rate_factor;
}

/* ---- what came of all ---- */

/* Adds the records of all processes in the order of their steps, and of processes in a step. */
static liana_status add_records(span_run *own, const liana__gathered *all, liana__error *error)
{
    const liana__cluster *cluster = own->span->training->cluster;
    const size_t count = liana__cluster_size(cluster), num_sums = own->span->totals.objective->num_sums;
    const size_t size = sizeof(record) + num_sums * sizeof(float);
    size_t *next = calloc(count, sizeof *next);
    float *sums = malloc(num_sums * sizeof *sums);
    liana_status status = next && sums ? LIANA_OK : liana__fail_memory(error, "the sums of updates");
    for (size_t i = 0; next && i < count; i++) next[i] = all->offsets[i];
    for (size_t step = 0; status == LIANA_OK && step < own->num_steps; step++) {
        for (size_t i = 0; i < count; i++) {
            record one;
            if (all->offsets[i + 1] - next[i] < size) continue;
            memcpy(&one, all->data + next[i], sizeof one);
            if (one.step != step) continue;
            memcpy(sums, all->data + next[i] + sizeof one, num_sums * sizeof *sums);
            next[i] += size;
            liana__totals_add(&own->span->training->state.running, sums, one.count, one.missing);
            liana__totals_add(&own->span->totals, sums, one.count, one.missing);
        }
    }
    free(next);
    free(sums);
    return status;
}

static liana_status share_records(span_run *own, liana__error *error)
{
    liana__gathered all = {0};
    liana_status status =
        liana__cluster_gather_sized(own->span->training->cluster, own->records.data, own->records.length, &all, error);
    liana__totals_clear(&own->span->totals);
    if (status == LIANA_OK) status = add_records(own, &all, error);
    liana__gathered_free(&all);
    for (size_t i = 0; i < own->span->totals.objective->num_sums; i++) {
        own->span->sums[i] = (float)own->span->totals.sums[i];
    }
    return status;
}

liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error)
{
    liana__span_counts counts;
    span_run run = {.span = own, .num_steps = num_steps};
    const liana__trainer_span wanted = {
        .num_steps = num_steps, .next = next_batch, .computed = keep_sums, .rate = find_rate, .user = &run};
    own->wait = 0;
    liana_status status = liana__trainer_run_span(own->training->trainer, &wanted, &counts, error);
    /* Servers, and workers that came late, go on in the data as well. */
    if (status == LIANA_OK) {
        status = liana__cluster_agree_status(own->training->cluster, take_step(&run, num_steps - 1, error), error);
    }
    release(&run);
    if (status == LIANA_OK) status = share_records(&run, error);
    liana__text_free(&run.records);
    LIANA_TRY(status);
    liana__span_counts_add(&own->training->state.gradients, &counts);
    return LIANA_OK;
}
