/* Spans of a program's own step. */
#include "train/step/step_span.h"

#include "base/context.h"
#include "train/core/worker_share.h"
#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

/* What a worker says of a step whose gradients were used. The sums that have names are behind it. */
typedef struct record {
    int64_t total, count; /* examples of the batch, and of the own share */
} record;

typedef struct span_run {
    liana_step *step;
    const liana__step_call *call;
    int64_t first;                /* the number of the span's first step in the call */
    liana_step_outcome *outcomes; /* of the span; NULL: nobody asks */
    bool is_asynchronous;
    uint64_t position; /* of the span's first example */
    liana__span_job job;
    int64_t *totals;           /* by step: examples of its batch; 0: not known here */
    liana__leaf_range *ranges; /* by worker: shards of the running batch */
    int64_t count;             /* examples of the own share */
    char *record;              /* memory for one */
} span_run;

/* ---- batches ---- */

/* The position of a step's first example. Of asynchronous workers none knows the batches of the others, so each batch counts
 * as a full one. */
static uint64_t position_of(const span_run *own, size_t number)
{
    const bool knows = !own->is_asynchronous || own->job.num_there == 1;
    const int64_t full = own->step->options.batch_size;
    uint64_t position = own->position;
    for (size_t i = 0; i < number; i++) position += (uint64_t)(knows && own->totals[i] ? own->totals[i] : full);
    return position;
}

static liana_status check_source(const span_run *own, const liana_step_batch *batch, liana__error *error)
{
    if (!batch->values || !own->is_asynchronous) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "%s: the batch is one by replica, of which each worker has a part, but an asynchronous update is "
        "of one worker's batch: give arrays or an element, best by liana_step_run_many",
        own->step->options.name);
}

/* Who computes which leaves of the batch. */
static liana_status divide(span_run *own, const liana__leaf_batch *leaves, liana__error *error)
{
    const liana__cluster *cluster = own->step->cluster;
    const size_t num_workers = cluster->place.num_workers, self = cluster->place.rank;
    if (!own->is_asynchronous && !leaves->worker_ends) {
        return liana__share_among(leaves->num_leaves, num_workers, own->job.was_there, own->ranges, error);
    }
    for (size_t i = 0; i < num_workers; i++) {
        if (own->is_asynchronous) {
            own->ranges[i] = (liana__leaf_range){0, i == self ? leaves->num_leaves : 0};
        } else {
            own->ranges[i] = (liana__leaf_range){i ? leaves->worker_ends[i - 1] : 0, leaves->worker_ends[i]};
        }
    }
    return LIANA_OK;
}

static liana_status begin_share(void *user, size_t number, liana__span_share *share, liana__error *error)
{
    span_run *own = user;
    liana_step *step = own->step;
    const liana__cluster *cluster = step->cluster;
    const uint64_t turn = own->call->turn + (uint64_t)own->first + number;
    liana_step_batch batch;
    *share = (liana__span_share){0};
    if (own->is_asynchronous && liana__span_owner(cluster, turn) != cluster->place.rank) return LIANA_OK;
    LIANA_TRY(liana__step_ask_batch(step, own->call, own->first + (int64_t)number, &batch, error));
    LIANA_TRY(check_source(own, &batch, error));
    LIANA_TRY(
        liana__step_take_batch(step, &batch, position_of(own, number), &share->leaves, &own->totals[number], error));
    LIANA_TRY(divide(own, &share->leaves, error));
    const liana__leaf_range range = own->ranges[cluster->place.rank];
    own->count = 0;
    if (range.begin == range.end) return LIANA_OK;
    for (size_t i = 0; i < cluster->place.num_workers; i++)
        share->num_sharing += own->ranges[i].begin < own->ranges[i].end;
    for (size_t i = range.begin; i < range.end; i++) own->count += share->leaves.leaves[i].size;
    share->count = own->count;
    share->leaves.leaves += range.begin;
    share->leaves.num_leaves = share->leaves.end = range.end - range.begin;
    share->leaves.worker_ends = NULL;
    return LIANA_OK;
}

static liana_status look(void *user, size_t number, const float *first, liana__error *error)
{
    (void)number;
    return liana__step_check_first(((const span_run *)user)->step, first, error);
}

static liana_status end_share(void *user, size_t number, const float *first, liana__error *error)
{
    span_run *own = user;
    const record made = {own->totals[number], own->count};
    memcpy(own->record, &made, sizeof made);
    memcpy(own->record + sizeof made, first, own->job.record_size - sizeof made);
    return liana__span_job_keep(&own->job, number, own->record, error);
}

/* ---- updates ---- */

static liana_status set_scalars(void *user, size_t update, double count, float *scalars, liana__error *error)
{
    const span_run *own = user;
    liana_setting settings[LIANA_MAX_SETTINGS];
    const int64_t number = own->first + (int64_t)(own->job.num_done + update);
    scalars[0] = (float)count;
    LIANA_TRY(liana__step_ask_scalars(own->step, own->call, number, settings, error));
    LIANA_TRY(liana__step_take_scalars(own->step, settings, scalars, error));
    return liana__step_check_scalars(own->step, scalars, error);
}

static const char *name_sum(void *user, const char *input)
{
    return liana__step_name_sum(((const span_run *)user)->step, input);
}

static liana_status run_once(void *user, liana__span_outcome *outcome, liana__error *error)
{
    span_run *own = user;
    liana_step *step = own->step;
    const liana__span_work work = {.num_steps = own->job.num_steps,
                                   .done = outcome->done,
                                   .generation = liana__cluster_generation(step->cluster),
                                   .begin = begin_share,
                                   .look = look,
                                   .end = end_share,
                                   .scalars = set_scalars,
                                   .name_sum = name_sum,
                                   .allows_non_finite = step->options.allows_non_finite,
                                   .user = own};
    return step->strategy->functions->run_span(step->instance, &work, outcome, error);
}

/* ---- what came of it ---- */

static void add_record(void *user, size_t number, const void *said)
{
    span_run *own = user;
    const liana_step *step = own->step;
    record one;
    memcpy(&one, said, sizeof one);
    own->totals[number] = one.total;
    if (!own->outcomes) return;
    liana_step_results *results = &own->outcomes[number].results;
    results->num_examples += one.count;
    for (size_t i = 0; i < step->sums.num_names; i++) {
        float sum;
        memcpy(&sum, (const char *)said + sizeof one + i * sizeof sum, sizeof sum);
        results->sums[i] += (double)sum;
    }
}

static void set_outcome(const span_run *own, size_t number)
{
    const liana__step_sums *sums = &own->step->sums;
    const liana__span_step *seen = &own->job.outcome.steps[number];
    liana_step_outcome *outcome = &own->outcomes[number];
    outcome->used = seen->used;
    outcome->dropped = seen->dropped;
    outcome->staleness = seen->staleness;
    outcome->results.num_sums = sums->num_names;
    for (size_t i = 0; i < sums->num_names; i++) outcome->results.names[i] = sums->names[i];
}

/* What a dead worker computed alone nobody else knows: it counts as a full batch. */
static void fill_totals(span_run *own)
{
    for (size_t i = 0; i < own->job.num_steps; i++) {
        if (own->totals[i] == 0) own->totals[i] = own->step->options.batch_size;
    }
}

/* ---- a span ---- */

static liana_status make_room(span_run *own, liana__error *error)
{
    const size_t num_workers = own->step->cluster->place.num_workers;
    LIANA_TRY(liana__step_check_variables(own->step));
    own->totals = calloc(own->job.num_steps + 1, sizeof *own->totals);
    own->ranges = calloc(num_workers, sizeof *own->ranges);
    own->record = malloc(own->job.record_size);
    const bool enough = own->totals && own->ranges && own->record;
    return enough ? LIANA_OK : liana__fail_memory(error, "a span of updates");
}

static void free_run(span_run *own)
{
    liana__span_job_free(&own->job);
    free(own->totals);
    free(own->ranges);
    free(own->record);
}

static liana_status run_and_share(span_run *own, liana__span_counts *counts, liana__error *error)
{
    liana_step *step = own->step;
    LIANA_TRY(liana__cluster_agree_status(step->cluster, make_room(own, error), error));
    LIANA_TRY(liana__step_agree(step, error));
    LIANA_TRY(liana__span_job_run(&own->job, error));
    /* The totals of batches that only some know would let positions differ. */
    memset(own->totals, 0, own->job.num_steps * sizeof *own->totals);
    LIANA_TRY(liana__span_job_share(&own->job, error));
    for (size_t i = 0; own->outcomes && i < own->job.num_steps; i++) set_outcome(own, i);
    fill_totals(own);
    const int64_t microbatch = step->options.microbatch;
    const liana_status status = liana__span_job_count_lost_of(&own->job, own->totals, microbatch, error);
    LIANA_TRY(liana__cluster_agree_status(step->cluster, status, error));
    const size_t last = own->job.num_steps - 1;
    step->next_position = position_of(own, last) + (uint64_t)own->totals[last];
    liana__span_counts_add(counts, &own->job.outcome.counts);
    return LIANA_OK;
}

static liana_status run_span(span_run *own, size_t num_steps, liana__span_counts *counts, liana__error *error)
{
    liana_step *step = own->step;
    const liana__notes notes = {step->options.on_note, step->options.user};
    const size_t num_sums = step->sums.num_names;
    own->position = step->next_position;
    own->job = (liana__span_job){.cluster = step->cluster,
                                 .strategy_options = step->strategy_options,
                                 .notes = &notes,
                                 .num_steps = num_steps,
                                 .record_size = sizeof(record) + num_sums * sizeof(float),
                                 .run = run_once,
                                 .add = add_record,
                                 .user = own};
    const liana_status status = run_and_share(own, counts, error);
    free_run(own);
    return status;
}

static void set_counts(const liana__span_counts *from, liana_step_counts *to)
{
    to->computed = (int64_t)from->computed;
    to->used = (int64_t)from->used;
    to->dropped = (int64_t)from->dropped;
    to->skipped = (int64_t)from->skipped;
    to->partly_used = (int64_t)from->partly_used;
    to->undone = (int64_t)from->undone;
    to->examples_lost = (int64_t)from->examples_lost;
    to->largest_staleness = (int64_t)from->largest_staleness;
    to->mean_staleness = from->measured ? (double)from->staleness / (double)from->measured : 0;
}

static liana_status run_all(liana_step *step, const liana__step_call *call, liana_step_outcome *outcomes,
                            liana_step_counts *counts)
{
    liana__span_counts sum = {0};
    liana_status status = LIANA_OK;
    while (status == LIANA_OK && counts->num_done < call->num_steps) {
        const int64_t left = call->num_steps - counts->num_done, most = (int64_t)step->span_steps;
        const int64_t length = left < most ? left : most;
        span_run own = {.step = step,
                        .call = call,
                        .first = counts->num_done,
                        .outcomes = outcomes ? outcomes + counts->num_done : NULL,
                        .is_asynchronous = step->strategy->is_asynchronous(step->strategy_options)};
        status = run_span(&own, (size_t)length, &sum, &step->context->error);
        if (status == LIANA_OK) counts->num_done += length;
    }
    set_counts(&sum, counts);
    return status;
}

liana_status liana__step_run_spans(liana_step *step, const liana__step_call *call, liana_step_outcome *outcomes,
                                   liana_step_counts *counts)
{
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, &step->context->error));
    const liana_status status = run_all(step, call, outcomes, counts);
    if (replicas) liana__replicas_leave(replicas);
    return status;
}
