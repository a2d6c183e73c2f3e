/* Spans of updates, until all their steps are done. */
#include "train/spans/span_job.h"

#include "batch/cut.h"
#include "distribute/cluster/exchange_options.h"
#include "train/core/worker_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t liana__span_steps_of(const liana__strategy *strategy, const void *options, const liana__cluster *cluster)
{
    const size_t num_workers = cluster ? cluster->place.num_workers : 1;
    return strategy && strategy->span_steps ? strategy->span_steps(options, num_workers) : 0;
}

bool liana__note_exchange(const liana__strategy *strategy, const void *options, const liana__cluster *cluster,
                          const liana__notes *notes, liana__exchange_reason *reason)
{
    const size_t num_workers = cluster ? cluster->place.num_workers : 1;
    *reason = (liana__exchange_reason){0};
    if (!strategy->describe_arithmetic) return false;
    strategy->describe_arithmetic(options, num_workers, reason->exchange, sizeof reason->exchange);
    if (!*reason->exchange) return false;
    snprintf(reason->text, sizeof reason->text, "gradients are exchanged with %s", reason->exchange);
    const bool is_in_step = liana__span_steps_of(strategy, options, cluster) == 0;
    liana__note(notes, "%s: results are %s", reason->text,
                is_in_step ? "other bits than those of one process" : "not reproducible");
    return !is_in_step;
}

size_t liana__span_owner(const liana__cluster *cluster, uint64_t step)
{
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

/* ---- tries ---- */

static size_t count_done(const liana__span_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->num_steps; i++) count += job->outcome.done[i];
    return count;
}

/* The steps that are not done; those of the dead may be left then. */
static liana_status run_once(liana__span_job *job, liana__error *error)
{
    liana__span_outcome *outcome = &job->outcome;
    const size_t num_workers = job->cluster->place.num_workers, before = job->records.length;
    job->num_done = count_done(job);
    job->num_there = 0;
    for (size_t i = 0; i < num_workers; i++) {
        job->was_there[i] = liana__cluster_is_member(job->cluster, i);
        job->num_there += job->was_there[i];
    }
    outcome->undone = false;
    memset(outcome->died, 0, num_workers * sizeof *outcome->died);
    memset(outcome->examples, 0, num_workers * sizeof *outcome->examples);
    LIANA_TRY(job->run(job->user, outcome, error));
    if (outcome->undone) {
        job->records.length = before;
        liana__note(job->notes, "a process is gone that all others needed: the last updates are done again");
        return LIANA_OK;
    }
    const size_t left = job->num_steps - count_done(job);
    if (left) liana__note(job->notes, "a worker is gone: the others do %zu updates that it has left", left);
    return LIANA_OK;
}

static liana_status run_all(liana__span_job *job, liana__error *error)
{
    const size_t most = liana__cluster_size(job->cluster) + 1;
    for (size_t i = 0; i < most && count_done(job) < job->num_steps; i++) LIANA_TRY(run_once(job, error));
    if (count_done(job) == job->num_steps) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "%zu of %zu updates are not done, though nobody has died",
                       job->num_steps - count_done(job), job->num_steps);
}

static liana_status make_room(liana__span_job *job, liana__error *error)
{
    const size_t num_workers = job->cluster->place.num_workers;
    liana__span_outcome *outcome = &job->outcome;
    outcome->done = calloc(job->num_steps + 1, sizeof *outcome->done);
    outcome->steps = calloc(job->num_steps + 1, sizeof *outcome->steps);
    outcome->died = calloc(num_workers, sizeof *outcome->died);
    outcome->examples = calloc(num_workers, sizeof *outcome->examples);
    job->was_there = calloc(num_workers, sizeof *job->was_there);
    /* Of sharing the records as well: one process that had no memory for them then would leave the others waiting. */
    job->found = calloc(liana__cluster_size(job->cluster) * job->num_steps + 1, sizeof *job->found);
    job->record = malloc(job->record_size + 1);
    bool enough = outcome->done && outcome->steps && outcome->died && outcome->examples;
    enough = enough && job->was_there && job->found && job->record;
    return enough ? LIANA_OK : liana__fail_memory(error, "a span of updates");
}

liana_status liana__span_job_run(liana__span_job *job, liana__error *error)
{
    LIANA_TRY(liana__cluster_agree_status(job->cluster, make_room(job, error), error));
    return run_all(job, error);
}

void liana__span_job_free(liana__span_job *job)
{
    liana__text_free(&job->records);
    free(job->was_there);
    free(job->found);
    free(job->record);
    free(job->outcome.done);
    free(job->outcome.steps);
    free(job->outcome.died);
    free(job->outcome.examples);
}

/* ---- what processes say of steps ---- */

liana_status liana__span_job_keep(liana__span_job *job, size_t step, const void *record, liana__error *error)
{
    const uint64_t number = step;
    liana__text_add_bytes(&job->records, (const char *)&number, sizeof number);
    liana__text_add_bytes(&job->records, record, job->record_size);
    return job->records.failed ? liana__fail_memory(error, "the sums of updates") : LIANA_OK;
}

/* Where the records of a process are, by step. Those of a second try come behind others of later steps. */
static void find_records(const liana__span_job *job, const liana__gathered *all, size_t rank, const char **records)
{
    uint64_t step;
    const size_t size = sizeof step + job->record_size;
    for (size_t at = all->offsets[rank]; all->offsets[rank + 1] - at >= size; at += size) {
        memcpy(&step, all->data + at, sizeof step);
        if (step < job->num_steps) records[step] = all->data + at + sizeof step;
    }
}

static void add_records(liana__span_job *job, const liana__gathered *all)
{
    const size_t count = liana__cluster_size(job->cluster), num_steps = job->num_steps;
    for (size_t i = 0; i < count; i++) find_records(job, all, i, job->found + i * num_steps);
    for (size_t step = 0; step < num_steps; step++) {
        for (size_t i = 0; i < count; i++) {
            if (!job->found[i * num_steps + step]) continue;
            memcpy(job->record, job->found[i * num_steps + step], job->record_size);
            job->add(job->user, step, job->record);
        }
    }
}

liana_status liana__span_job_share(liana__span_job *job, liana__error *error)
{
    liana__gathered all = {0};
    const liana_status status =
        liana__cluster_gather_sized(job->cluster, job->records.data, job->records.length, &all, error);
    if (status == LIANA_OK) add_records(job, &all);
    liana__gathered_free(&all);
    return status;
}

/* ---- what is lost ---- */

void liana__span_job_count_lost(liana__span_job *job, const int64_t *positions)
{
    const liana__cluster *cluster = job->cluster;
    const size_t num_workers = cluster->place.num_workers;
    const liana__exchange_options asked = liana__parameter_server_options(job->strategy_options, num_workers);
    int64_t left = 0;
    for (size_t i = 0; i < num_workers; i++) left += liana__cluster_is_member(cluster, i);
    for (size_t i = 0; asked.synchronous && i < num_workers; i++) {
        if (!job->outcome.died[i]) continue;
        const int64_t lost = positions[i] - job->outcome.examples[i];
        job->outcome.counts.examples_lost += (uint64_t)(lost > 0 ? lost : 0);
        liana__note(job->notes,
                    "worker %zu is gone: %lld examples of its shares were not trained on; updates take the gradients "
                    "of the first %lld of %lld workers now",
                    i, (long long)lost,
                    (long long)(asked.replicas_to_aggregate < left ? asked.replicas_to_aggregate : left),
                    (long long)left);
    }
}

/* Adds the examples that each worker had of a batch. */
static liana_status add_positions(const liana__span_job *job, int64_t total, int64_t microbatch,
                                  liana__leaf_range *ranges, int64_t *positions, liana__error *error)
{
    const size_t num_workers = job->cluster->place.num_workers;
    const liana__cut cut = liana__cut_batch(total, microbatch);
    LIANA_TRY(liana__share_among((size_t)cut.count, num_workers, job->was_there, ranges, error));
    for (size_t i = 0; i < num_workers; i++) {
        for (size_t k = ranges[i].begin; k < ranges[i].end; k++) positions[i] += liana__cut_size(&cut, (int64_t)k);
    }
    return LIANA_OK;
}

liana_status liana__span_job_count_lost_of(liana__span_job *job, const int64_t *totals, int64_t microbatch,
                                           liana__error *error)
{
    const size_t num_workers = job->cluster->place.num_workers;
    bool any = false;
    for (size_t i = 0; i < num_workers; i++) any |= job->outcome.died[i];
    if (!any) return LIANA_OK;
    liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    int64_t *positions = calloc(num_workers, sizeof *positions);
    liana_status status = ranges && positions ? LIANA_OK : liana__fail_memory(error, "a span of updates");
    for (size_t i = 0; status == LIANA_OK && i < job->num_steps; i++) {
        status = add_positions(job, totals[i], microbatch, ranges, positions, error);
    }
    if (status == LIANA_OK) liana__span_job_count_lost(job, positions);
    free(ranges);
    free(positions);
    return status;
}
