/* Updates of workers that are not in step. */
#include "train/fit/fit_span.h"

#include "data/loader/cut.h"
#include "distribute/cluster/exchange_options.h"
#include "distribute/cluster/span.h"
#include "train/core/batch_components.h"
#include "train/core/worker_share.h"
#include "train/fit/fit_plan.h"

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
    size_t num_done;        /* steps, before a death left others to do */
    int64_t *positions;     /* by worker: in the steps that the loader has given */
    liana__span_outcome outcome;
} span_run;

/* ---- setting up ---- */

/* Step s of an epoch, asynchronously: of those that are left, worker s modulo their number. So the steps of one that is gone
 * are spread over all others. */
static size_t find_owner(void *user, uint64_t step)
{
    const liana__cluster *cluster = user;
    const size_t num_workers = cluster->place.num_workers;
    size_t count = 0, place = 0;
    for (size_t i = 0; i < num_workers; i++) count += liana__cluster_is_member(cluster, i);
    if (count == 0) return 0;
    size_t before = (size_t)(step % count);
    while (place < num_workers && (!liana__cluster_is_member(cluster, place) || before > 0)) {
        before -= liana__cluster_is_member(cluster, place++);
    }
    return place < num_workers ? place : 0;
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
    own->is_asynchronous = strategy->is_asynchronous(options->strategy_options);
    own->generation = liana__cluster_generation(training->cluster);
    workers.owner = own->is_asynchronous ? find_owner : NULL;
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

static liana_status keep_sums(void *user, size_t step, const float *sums, liana__error *error)
{
    span_run *own = user;
    const liana__batch *batch = own->batch;
    const record made = {step, batch->count, positions_of(own, batch->workers->self) - batch->count};
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
    const int64_t applied = liana__training_state_applied(state) + (int64_t)(own->num_done + update);
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

/* ---- deaths ---- */

/* Where a step is shared out, nobody else can do the shares of the dead: its update is over. */
static void count_lost(span_run *own)
{
    liana__fit_span *span = own->span;
    const liana__cluster *cluster = span->training->cluster;
    const liana__trainer_options *options = liana__trainer_options_of(span->training->trainer);
    const liana__exchange_options asked =
        liana__parameter_server_options(options->strategy_options, cluster->place.num_workers);
    int64_t left = 0;
    for (size_t i = 0; i < cluster->place.num_workers; i++) left += liana__cluster_is_member(cluster, i);
    for (size_t i = 0; !span->is_asynchronous && i < cluster->place.num_workers; i++) {
        if (!own->outcome.died[i]) continue;
        const int64_t lost = own->positions[i] - own->outcome.examples[i];
        own->outcome.counts.examples_lost += (uint64_t)(lost > 0 ? lost : 0);
        liana__note(&span->notes,
                    "worker %zu is gone: %lld examples of its shares were not trained on; updates take the gradients "
                    "of the first %lld of %lld workers now",
                    i, (long long)lost,
                    (long long)(asked.replicas_to_aggregate < left ? asked.replicas_to_aggregate : left),
                    (long long)left);
    }
}

static size_t count_done(const span_run *own)
{
    size_t count = 0;
    for (size_t i = 0; i < own->num_steps; i++) count += own->outcome.done[i];
    return count;
}

/* The steps that are not done; those of the dead may be left then. */
static liana_status run_once(span_run *own, liana__error *error)
{
    liana__fit_span *span = own->span;
    const size_t num_workers = span->training->cluster->place.num_workers;
    LIANA_TRY(follow_cluster(own, error));
    const liana__trainer_span wanted = {.num_steps = own->num_steps,
                                        .generation = span->generation,
                                        .next = next_batch,
                                        .computed = keep_sums,
                                        .rate = find_rate,
                                        .user = own};
    own->num_done = count_done(own);
    own->outcome.undone = false;
    memset(own->outcome.died, 0, num_workers * sizeof *own->outcome.died);
    memset(own->outcome.examples, 0, num_workers * sizeof *own->outcome.examples);
    const size_t before = own->records.length;
    LIANA_TRY(liana__trainer_run_span(span->training->trainer, &wanted, &own->outcome, error));
    if (own->outcome.undone) {
        own->records.length = before;
        liana__note(&span->notes, "a process is gone that all others needed: the last updates are done again");
        return LIANA_OK;
    }
    const size_t left = own->num_steps - count_done(own);
    if (left) liana__note(&span->notes, "a worker is gone: the others do %zu updates that it has left", left);
    return LIANA_OK;
}

/* Each death may leave something to do once more. */
static liana_status run_all(span_run *own, liana__error *error)
{
    const size_t most = liana__cluster_size(own->span->training->cluster) + 1;
    for (size_t i = 0; i < most && count_done(own) < own->num_steps; i++) LIANA_TRY(run_once(own, error));
    if (count_done(own) == own->num_steps) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "%zu of %zu updates are not done, though nobody has died",
                       own->num_steps - count_done(own), own->num_steps);
}

static liana_status make_room(span_run *own, liana__error *error)
{
    const size_t num_workers = own->span->training->cluster->place.num_workers;
    liana__span_outcome *outcome = &own->outcome;
    own->positions = calloc(num_workers, sizeof *own->positions);
    outcome->done = calloc(own->num_steps + 1, sizeof *outcome->done);
    outcome->died = calloc(num_workers, sizeof *outcome->died);
    outcome->examples = calloc(num_workers, sizeof *outcome->examples);
    const bool enough = own->positions && outcome->done && outcome->died && outcome->examples;
    return enough ? LIANA_OK : liana__fail_memory(error, "a span of updates");
}

static void free_run(span_run *own)
{
    release(own);
    liana__text_free(&own->records);
    free(own->positions);
    free(own->outcome.done);
    free(own->outcome.died);
    free(own->outcome.examples);
}

static liana_status run_and_share(span_run *own, liana__error *error)
{
    liana__cluster *cluster = own->span->training->cluster;
    LIANA_TRY(liana__cluster_agree_status(cluster, make_room(own, error), error));
    LIANA_TRY(run_all(own, error));
    /* Servers, and workers that came late, go on in the data as well. */
    LIANA_TRY(liana__cluster_agree_status(cluster, take_step(own, own->num_steps - 1, error), error));
    count_lost(own);
    LIANA_TRY(share_records(own, error));
    liana__span_counts_add(&own->span->training->state.gradients, &own->outcome.counts);
    return LIANA_OK;
}

liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error)
{
    span_run run = {.span = own, .num_steps = num_steps};
    own->wait = 0;
    const liana_status status = run_and_share(&run, error);
    free_run(&run);
    return status;
}
