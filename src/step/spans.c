/* Spans of updates, until all their steps are done. */
#include "step/spans.h"

#include "base/scoped.h"
#include "base/text.h"
#include "batch/cut.h"
#include "step/step_internal.h"

#include <stdlib.h>
#include <string.h>

/* A span that runs. */
typedef struct span_run {
    liana__step *step;
    const liana__step_span *span;
    liana__span_result *result;
    liana__cluster *cluster;
    liana__span_outcome outcome;
    liana__span_try attempt;
    size_t num_done;           /* steps, before the running try */
    bool *was_there;           /* by worker, when that began: shares are divided among these */
    liana__leaf_range *ranges; /* by worker: shards of the running batch */
    int64_t *totals;           /* by step */
    const liana__batch *batch; /* the running one */
    liana__span_record made;   /* of its share */
    size_t record_size;        /* with the sums behind it */
    liana__text records;       /* of this process */
    const char **found;        /* [processes, steps] the records of all, while they are shared */
    float *sums;               /* memory for those of one */
} span_run;

/* ---- a share ---- */

/* Divides the shards of a batch that every process has. */
static liana_status divide(span_run *own, const liana__leaf_batch *shards, liana__error *error)
{
    const size_t num_workers = own->cluster->place.num_workers, self = own->cluster->place.rank;
    if (!own->attempt.is_asynchronous) {
        return liana__share_among(shards->num_leaves, num_workers, own->was_there, own->ranges, error);
    }
    for (size_t i = 0; i < num_workers; i++) {
        own->ranges[i] = (liana__leaf_range){0, i == self ? shards->num_leaves : 0};
    }
    return LIANA_OK;
}

/* Of a batch that is here in part: as the shards were divided when it was made. */
static void take_division(span_run *own, const liana__leaf_batch *shards)
{
    const liana__step_workers *workers = own->batch->workers;
    const liana__cut cut = liana__cut_batch(own->batch->num_positions, own->step->plan.microbatch);
    int64_t positions = 0;
    for (size_t i = 0; i < own->cluster->place.num_workers; i++) {
        own->ranges[i] = (liana__leaf_range){i ? shards->worker_ends[i - 1] : 0, shards->worker_ends[i]};
    }
    for (int64_t i = workers->bounds[workers->self]; i < workers->bounds[workers->self + 1]; i++) {
        positions += workers->by_count ? workers->shard_counts[i] : liana__cut_size(&cut, i);
    }
    own->made.missing = positions - own->batch->count;
}

/* Those that have shards, even if all their examples are missing. */
static size_t count_sharing(const span_run *own)
{
    const liana__step_workers *workers = own->batch->workers;
    size_t count = 0;
    for (size_t i = 0; i < own->cluster->place.num_workers; i++) {
        count += workers ? workers->bounds[i] < workers->bounds[i + 1] : own->ranges[i].begin < own->ranges[i].end;
    }
    return count;
}

static liana_status begin_share(void *user, size_t number, liana__span_share *share, liana__error *error)
{
    span_run *own = user;
    const size_t self = own->cluster->place.rank;
    *share = (liana__span_share){0};
    const bool is_ours = liana__span_owner(own->cluster, own->span->turn + number) == self;
    if (own->attempt.is_asynchronous && !is_ours) return LIANA_OK;
    LIANA_TRY(own->span->next(own->span->user, &own->attempt, number, &own->batch, error));
    const liana__step_workers *workers = own->batch->workers;
    own->made = (liana__span_record){.total = own->batch->num_positions ? own->batch->num_positions
                                                                        : liana__batch_step_count(own->batch)};
    own->totals[number] = own->made.total;
    if (workers && workers->bounds[self] == workers->bounds[self + 1]) return LIANA_OK;
    if (liana__batch_step_count(own->batch)) LIANA_TRY(liana__step_check_batch(own->step, own->batch, true, error));
    share->leaves = liana__step_shards(own->step, own->batch);
    if (workers) {
        take_division(own, &share->leaves);
    } else {
        LIANA_TRY(divide(own, &share->leaves, error));
    }
    const liana__leaf_range range = own->ranges[self];
    if (!workers && range.begin == range.end) return LIANA_OK;
    share->num_sharing = count_sharing(own);
    for (size_t i = range.begin; i < range.end; i++) own->made.count += share->leaves.leaves[i].size;
    share->count = own->made.count;
    share->leaves.leaves += range.begin;
    share->leaves.num_leaves = share->leaves.end = range.end - range.begin;
    share->leaves.worker_ends = NULL;
    return LIANA_OK;
}

/* Takes the sums of a share that has examples, with the penalty of the variables that it was computed with. */
static liana_status look(void *user, size_t number, const float *first, liana__error *error)
{
    span_run *own = user;
    liana__step *step = own->step;
    (void)number;
    memcpy(step->first_sum, first, step->plan.shards->num_sums * sizeof *first);
    LIANA_TRY(liana__step_add_penalty(step, own->made.count, error));
    return liana__step_check_sums(step, error);
}

static liana_status end_share(void *user, size_t number, const float *first, liana__error *error)
{
    span_run *own = user;
    const uint64_t place = number;
    const size_t size = own->record_size - sizeof own->made;
    (void)first;
    if (own->made.count == 0) memset(own->step->first_sum, 0, size);
    if (own->span->used) own->span->used(own->span->user, own->batch);
    liana__text_add_bytes(&own->records, (const char *)&place, sizeof place);
    liana__text_add_bytes(&own->records, (const char *)&own->made, sizeof own->made);
    liana__text_add_bytes(&own->records, (const char *)own->step->first_sum, size);
    return own->records.failed ? liana__fail_memory(error, "the sums of updates") : LIANA_OK;
}

static liana_status set_scalars(void *user, size_t update, double count, float *scalars, liana__error *error)
{
    span_run *own = user;
    scalars[0] = (float)count;
    LIANA_TRY(own->span->scalars(own->span->user, own->num_done + update, scalars, error));
    for (size_t i = 0; i < own->step->plan.update->num_scalars; i++) own->step->given[i] = (double)scalars[1 + i];
    return liana__step_check_scalars(own->step, scalars, error);
}

static const char *name_sum(void *user, const char *input)
{
    const liana__update_builder *update = ((const span_run *)user)->step->plan.update;
    return update->name_sum ? update->name_sum(update->functions.user, input) : input;
}

/* ---- tries ---- */

static size_t count_done(const span_run *own)
{
    size_t count = 0;
    for (size_t i = 0; i < own->span->num_steps; i++) count += own->outcome.done[i];
    return count;
}

/* The steps that are not done; those of the dead may be left then. */
static liana_status run_once(span_run *own, liana__error *error)
{
    liana__step *step = own->step;
    liana__span_outcome *outcome = &own->outcome;
    const size_t num_workers = own->cluster->place.num_workers, before = own->records.length;
    liana__span_work work = {.num_steps = own->span->num_steps,
                             .done = outcome->done,
                             .generation = liana__cluster_generation(own->cluster),
                             .begin = begin_share,
                             .look = look,
                             .end = end_share,
                             .scalars = set_scalars,
                             .name_sum = name_sum,
                             .allows_non_finite = step->plan.update->takes_non_finite,
                             .user = own};
    own->num_done = count_done(own);
    own->attempt.num_there = 0;
    for (size_t i = 0; i < num_workers; i++) {
        own->was_there[i] = liana__cluster_is_member(own->cluster, i);
        own->attempt.num_there += own->was_there[i];
    }
    outcome->undone = false;
    memset(outcome->died, 0, num_workers * sizeof *outcome->died);
    memset(outcome->examples, 0, num_workers * sizeof *outcome->examples);
    if (own->span->begin) LIANA_TRY(own->span->begin(own->span->user, &work.generation, error));
    LIANA_TRY(step->plan.strategy->functions->run_span(step->instance, &work, outcome, error));
    if (outcome->undone) {
        own->records.length = before;
        liana__note(own->span->notes, "a process is gone that all others needed: the last updates are done again");
        return LIANA_OK;
    }
    const size_t left = own->span->num_steps - count_done(own);
    if (left) liana__note(own->span->notes, "a worker is gone: the others do %zu updates that it has left", left);
    return LIANA_OK;
}

static liana_status run_all(span_run *own, liana__error *error)
{
    const size_t most = liana__cluster_size(own->cluster) + 1, num_steps = own->span->num_steps;
    for (size_t i = 0; i < most && count_done(own) < num_steps; i++) LIANA_TRY(run_once(own, error));
    if (count_done(own) == num_steps) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "%zu of %zu updates are not done, though nobody has died",
                       num_steps - count_done(own), num_steps);
}

/* ---- records of steps ---- */

/* Where the records of a process are, by step. Those of a second try come behind others of later steps. */
static void find_records(const span_run *own, const liana__gathered *all, size_t rank, const char **records)
{
    uint64_t step;
    const size_t size = sizeof step + own->record_size;
    for (size_t at = all->offsets[rank]; all->offsets[rank + 1] - at >= size; at += size) {
        memcpy(&step, all->data + at, sizeof step);
        if (step < own->span->num_steps) records[step] = all->data + at + sizeof step;
    }
}

static void add_records(span_run *own, const liana__gathered *all)
{
    const size_t count = liana__cluster_size(own->cluster), num_steps = own->span->num_steps;
    for (size_t i = 0; i < count; i++) find_records(own, all, i, own->found + i * num_steps);
    /* The totals of batches that only some know would let positions differ. */
    memset(own->totals, 0, num_steps * sizeof *own->totals);
    for (size_t step = 0; step < num_steps; step++) {
        for (size_t i = 0; i < count; i++) {
            const char *found = own->found[i * num_steps + step];
            liana__span_record record;
            if (!found) continue;
            memcpy(&record, found, sizeof record);
            memcpy(own->sums, found + sizeof record, own->record_size - sizeof record);
            own->totals[step] = record.total;
            own->span->add(own->span->user, step, &record, own->sums);
        }
    }
}

static liana_status share_records(span_run *own, liana__error *error)
{
    LIANA__SCOPED(liana__gathered) all = {0};
    LIANA_TRY(liana__cluster_gather_sized(own->cluster, own->records.data, own->records.length, &all, error));
    add_records(own, &all);
    return LIANA_OK;
}

/* ---- lost examples ---- */

static void note_lost(span_run *own, size_t worker, int64_t lost)
{
    const liana__cluster *cluster = own->cluster;
    const size_t num_workers = cluster->place.num_workers;
    const liana__exchange_options asked = liana__parameter_server_options(own->step->plan.devices.options, num_workers);
    int64_t left = 0;
    for (size_t i = 0; i < num_workers; i++) left += liana__cluster_is_member(cluster, i);
    own->outcome.counts.examples_lost += (uint64_t)lost;
    liana__note(own->span->notes,
                "worker %zu is gone: %lld examples of its shares were not trained on; updates take the gradients "
                "of the first %lld of %lld workers now",
                worker, (long long)lost,
                (long long)(asked.replicas_to_aggregate < left ? asked.replicas_to_aggregate : left), (long long)left);
}

/* With first arrivals: the examples of workers that died, of which nobody can do the shares later. */
static liana_status count_lost(span_run *own, liana__error *error)
{
    const size_t num_workers = own->cluster->place.num_workers;
    bool any = false;
    for (size_t i = 0; i < num_workers; i++) any |= own->outcome.died[i];
    if (!any || own->attempt.is_asynchronous) return LIANA_OK;
    LIANA__SCOPED_MEMORY int64_t *positions = calloc(num_workers, sizeof *positions);
    if (!positions) return liana__fail_memory(error, "a span of updates");
    for (size_t step = 0; step < own->span->num_steps; step++) {
        const int64_t total = own->totals[step] ? own->totals[step] : own->step->plan.batch_size;
        const liana__cut cut = liana__cut_batch(total, own->step->plan.microbatch);
        LIANA_TRY(liana__share_among((size_t)cut.count, num_workers, own->was_there, own->ranges, error));
        for (size_t i = 0; i < num_workers; i++) {
            for (size_t k = own->ranges[i].begin; k < own->ranges[i].end; k++) {
                positions[i] += liana__cut_size(&cut, (int64_t)k);
            }
        }
    }
    for (size_t i = 0; i < num_workers; i++) {
        const int64_t lost = positions[i] - own->outcome.examples[i];
        if (own->outcome.died[i]) note_lost(own, i, lost > 0 ? lost : 0);
    }
    return LIANA_OK;
}

/* ---- a span ---- */

static liana_status make_room(span_run *own, liana__error *error)
{
    const size_t num_workers = own->cluster->place.num_workers, num_steps = own->span->num_steps;
    liana__span_outcome *outcome = &own->outcome;
    outcome->done = calloc(num_steps + 1, sizeof *outcome->done);
    outcome->steps = calloc(num_steps + 1, sizeof *outcome->steps);
    outcome->died = calloc(num_workers, sizeof *outcome->died);
    outcome->examples = calloc(num_workers, sizeof *outcome->examples);
    own->was_there = calloc(num_workers, sizeof *own->was_there);
    own->ranges = calloc(num_workers, sizeof *own->ranges);
    own->totals = calloc(num_steps + 1, sizeof *own->totals);
    /* Of sharing the records as well: one process that had no memory for them then would leave the others waiting. */
    own->found = calloc(liana__cluster_size(own->cluster) * num_steps + 1, sizeof *own->found);
    own->sums = malloc(own->record_size);
    bool enough = outcome->done && outcome->steps && outcome->died && outcome->examples;
    enough = enough && own->was_there && own->ranges && own->totals && own->found && own->sums;
    return enough ? LIANA_OK : liana__fail_memory(error, "a span of updates");
}

static void free_run(span_run *own)
{
    liana__text_free(&own->records);
    free(own->was_there);
    free(own->ranges);
    free(own->totals);
    free(own->found);
    free(own->sums);
    free(own->outcome.done);
    free(own->outcome.steps);
    free(own->outcome.died);
    free(own->outcome.examples);
}

static liana_status run(span_run *own, liana__error *error)
{
    const liana__step_span *span = own->span;
    liana__span_result *result = own->result;
    LIANA_TRY(liana__cluster_agree_status(own->cluster, make_room(own, error), error));
    LIANA_TRY(run_all(own, error));
    if (span->end) LIANA_TRY(liana__cluster_agree_status(own->cluster, span->end(span->user, error), error));
    LIANA_TRY(share_records(own, error));
    LIANA_TRY(liana__cluster_agree_status(own->cluster, count_lost(own, error), error));
    liana__span_counts_add(&result->counts, &own->outcome.counts);
    result->attempt = own->attempt;
    if (result->steps) memcpy(result->steps, own->outcome.steps, span->num_steps * sizeof *result->steps);
    if (result->totals) memcpy(result->totals, own->totals, span->num_steps * sizeof *result->totals);
    return LIANA_OK;
}

liana_status liana__step_run_span(liana__step *step, const liana__step_span *span, liana__span_result *result,
                                  liana__error *error)
{
    const liana__step_plan *plan = &step->plan;
    LIANA__SCOPED_BY(free_run)
    span_run own = {.step = step, .span = span, .result = result, .cluster = liana__step_cluster(step)};
    own.attempt.is_asynchronous = plan->strategy->is_asynchronous(plan->devices.options);
    own.record_size = sizeof own.made + plan->shards->num_sums * sizeof(float);
    step->fault = (liana__fault){0};
    if (plan->shards->num_counts) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "a loss divides by the elements of whole batches that a mask leaves, which workers that are "
                           "not in step do not know: use synchronous updates of all workers");
    }
    return run(&own, error);
}
