/* Updates of workers that are not in step. */
#include "train/fit/fit_span.h"

#include "batch/cut.h"
#include "train/core/batch_components.h"
#include "train/core/worker_share.h"
#include "train/fit/fit_plan.h"
#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

/* What a worker's gradients were of. The sums of loss and metrics are behind it. */
typedef struct record {
    int64_t count, missing;
} record;

typedef struct span_run {
    liana__fit_span *span;
    liana__span_job job;
    size_t next;         /* steps that the loader has given */
    liana__batch *batch; /* of the running one; NULL: none */
    char *record;        /* memory for one */
    float *sums;         /* the same */
    int64_t *positions;  /* by worker: in the steps that the loader has given */
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

liana_status liana__fit_span_create(liana__training *training, liana__loader *loader, liana__learning_rate *schedule,
                                    bool recovers, liana__fit_span *own, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(training->trainer);
    const liana__strategy *strategy = options->strategy;
    *own = (liana__fit_span){.training = training, .loader = loader, .schedule = schedule};
    if (!training->cluster) return LIANA_OK;
    own->span_steps = liana__span_steps_of(strategy, options->strategy_options, training->cluster);
    if (own->span_steps == 0) return LIANA_OK;
    LIANA_TRY(check(loader, recovers, error));
    own->microbatch = liana__trainer_microbatch(training->trainer);
    liana__input_workers workers = liana__share_input(training->cluster, own->microbatch);
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

/* The positions that a worker makes of the running step. */
static int64_t positions_of(const span_run *own, size_t worker)
{
    const liana__step_workers *step = own->batch->workers;
    const liana__cut cut = liana__cut_batch(own->batch->num_positions, own->span->microbatch);
    int64_t count = 0;
    for (int64_t i = step->bounds[worker]; i < step->bounds[worker + 1]; i++) count += liana__cut_size(&cut, i);
    return count;
}

/* Gives the batch of a step. Those before it were not computed here. */
static liana_status take_step(span_run *own, size_t step, liana__error *error)
{
    while (own->next <= step) {
        release(own);
        LIANA_TRY(liana__loader_next(own->span->loader, &own->batch, error));
        own->span->wait += own->batch->wait_seconds;
        own->next++;
        const size_t count = own->span->training->cluster->place.num_workers;
        for (size_t i = 0; i < count; i++) own->positions[i] += positions_of(own, i);
    }
    return LIANA_OK;
}

/* After a death others have the shares of the dead. */
static liana_status follow_cluster(span_run *own, liana__error *error)
{
    liana__fit_span *span = own->span;
    const liana__training_state *state = &span->training->state;
    const liana__cluster *cluster = span->training->cluster;
    const uint64_t generation = liana__cluster_generation(cluster);
    if (generation == span->generation) return LIANA_OK;
    release(own);
    span->generation = generation;
    own->next = 0;
    memset(own->positions, 0, cluster->place.num_workers * sizeof *own->positions);
    return liana__loader_begin(span->loader, liana__fit_data_epoch(state, state->epoch), (uint64_t)state->step, error);
}

static liana_status next_batch(void *user, size_t step, const liana__batch **batch, liana__error *error)
{
    span_run *own = user;
    const liana__fit_span *span = own->span;
    const liana__trainer *trainer = span->training->trainer;
    LIANA_TRY(take_step(own, step, error));
    if (own->batch->count > 0) {
        LIANA_TRY(liana__batch_check(trainer, own->batch, liana__loader_source(span->loader), error));
    }
    *batch = own->batch;
    return LIANA_OK;
}

static liana_status keep_sums(void *user, size_t step, const float *sums, int64_t count, liana__error *error)
{
    span_run *own = user;
    const liana__batch *batch = own->batch;
    const record made = {count, positions_of(own, batch->workers->self) - count};
    memcpy(own->record, &made, sizeof made);
    memcpy(own->record + sizeof made, sums, own->job.record_size - sizeof made);
    bool *seen = own->span->seen_classes;
    for (int64_t i = 0; seen && batch->labels && i < batch->count; i++) seen[batch->labels[i]] = true;
    return liana__span_job_keep(&own->job, step, own->record, error);
}

static double find_rate(void *user, size_t update, int64_t *iteration)
{
    const span_run *own = user;
    const liana__training_state *state = &own->span->training->state;
    const int64_t applied = liana__training_state_applied(state) + (int64_t)(own->job.num_done + update);
    *iteration = applied + 1;
    return liana__training_rate(own->span->training, own->span->schedule, applied) * state->rate_factor;
}

/* ---- what came of all ---- */

static void add_record(void *user, size_t step, const void *said)
{
    span_run *own = user;
    record one;
    (void)step;
    memcpy(&one, said, sizeof one);
    memcpy(own->sums, (const char *)said + sizeof one, own->job.record_size - sizeof one);
    liana__totals_add(&own->span->training->state.running, own->sums, one.count, one.missing);
    liana__totals_add(&own->span->totals, own->sums, one.count, one.missing);
}

static liana_status share_records(span_run *own, liana__error *error)
{
    liana__fit_span *span = own->span;
    liana__totals_clear(&span->totals);
    LIANA_TRY(liana__span_job_share(&own->job, error));
    for (size_t i = 0; i < span->totals.objective->num_sums; i++) span->sums[i] = (float)span->totals.sums[i];
    return LIANA_OK;
}

/* ---- a span ---- */

static liana_status run_once(void *user, liana__span_outcome *outcome, liana__error *error)
{
    span_run *own = user;
    LIANA_TRY(follow_cluster(own, error));
    const liana__trainer_span wanted = {.num_steps = own->job.num_steps,
                                        .generation = own->span->generation,
                                        .next = next_batch,
                                        .computed = keep_sums,
                                        .rate = find_rate,
                                        .user = own};
    return liana__trainer_run_span(own->span->training->trainer, &wanted, outcome, error);
}

static liana_status make_room(span_run *own, liana__error *error)
{
    const size_t size = own->job.record_size;
    own->positions = calloc(own->job.cluster->place.num_workers, sizeof *own->positions);
    own->record = malloc(size);
    own->sums = malloc(size);
    return own->positions && own->record && own->sums ? LIANA_OK : liana__fail_memory(error, "a span of updates");
}

static void free_run(span_run *own)
{
    release(own);
    liana__span_job_free(&own->job);
    free(own->positions);
    free(own->record);
    free(own->sums);
}

static liana_status run_and_share(span_run *own, liana__error *error)
{
    liana__cluster *cluster = own->job.cluster;
    LIANA_TRY(liana__cluster_agree_status(cluster, make_room(own, error), error));
    LIANA_TRY(liana__span_job_run(&own->job, error));
    /* Servers, and workers that came late, go on in the data as well. */
    LIANA_TRY(liana__cluster_agree_status(cluster, take_step(own, own->job.num_steps - 1, error), error));
    liana__span_job_count_lost(&own->job, own->positions);
    LIANA_TRY(share_records(own, error));
    liana__span_counts_add(&own->span->training->state.gradients, &own->job.outcome.counts);
    return LIANA_OK;
}

liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(own->training->trainer);
    span_run run = {.span = own};
    run.job = (liana__span_job){.cluster = own->training->cluster,
                                .strategy_options = options->strategy_options,
                                .notes = &own->notes,
                                .num_steps = num_steps,
                                .record_size = sizeof(record) + own->totals.objective->num_sums * sizeof(float),
                                .run = run_once,
                                .add = add_record,
                                .user = &run};
    own->wait = 0;
    const liana_status status = run_and_share(&run, error);
    free_run(&run);
    return status;
}
