/* Many steps in one call. */
#include "base/context.h"
#include "base/scoped.h"
#include "batch/cut.h"
#include "step/shard_list.h"
#include "step/user_step.h"

#include <stdlib.h>
#include <string.h>

/* ---- workers that are in step ---- */

/* The workers that had shards of the last batch, which has `count` examples. */
static liana_status count_sharing(const liana_step *step, const liana_step_input *batch, int64_t count,
                                  int64_t *sharing, liana__error *error)
{
    const liana__cluster *cluster = step->cluster;
    *sharing = 1;
    if (!cluster) return LIANA_OK;
    const size_t num_workers = cluster->place.num_workers;
    const size_t num_shards = (size_t)liana__cut_batch(count, step->options.microbatch).count;
    LIANA__SCOPED_MEMORY liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    if (!ranges) return liana__fail_memory(error, "the shards of a batch");
    LIANA_TRY(liana__share_among_workers(num_shards, cluster, ranges, error));
    *sharing = 0;
    for (size_t i = 0; i < num_workers; i++) {
        const int64_t *bounds = step->workers.bounds;
        *sharing += batch->values ? bounds[i] < bounds[i + 1] : ranges[i].begin < ranges[i].end;
    }
    return LIANA_OK;
}

static liana_status run_one(liana_step *step, const liana__user_call *call, int64_t number, liana_step_outcome *outcome)
{
    liana__error *error = &step->context->error;
    liana_step_input batch;
    liana_setting settings[LIANA_MAX_SETTINGS];
    liana_status status = liana__user_ask_batch(step, call, number, &batch, error);
    if (status == LIANA_OK) status = liana__user_ask_scalars(step, call, number, settings, error);
    LIANA_TRY(liana__cluster_agree_status(step->cluster, status, error));
    LIANA_TRY(liana__user_run_batch(step, &batch, settings, &outcome->results));
    return count_sharing(step, &batch, outcome->results.num_examples, &outcome->used, error);
}

static void count_one(const liana_step_outcome *outcome, liana__user_tally *tally)
{
    tally->counts.num_done++;
    tally->counts.computed += outcome->used;
    tally->counts.used += outcome->used;
    liana__user_add_results(&outcome->results, &tally->results);
}

static liana_status run_in_step(liana_step *step, const liana__user_call *call, int64_t first, int64_t end,
                                liana_step_outcome *outcomes, liana__user_tally *tally)
{
    for (int64_t i = first; i < end; i++) {
        liana_step_outcome outcome = {0};
        const liana_status status = run_one(step, call, i, &outcome);
        if (status == LIANA_END_OF_DATA && call->until_end) break;
        if (outcomes) outcomes[i] = outcome;
        LIANA_TRY(status);
        count_one(&outcome, tally);
    }
    return LIANA_OK;
}

/* ---- several updates in one execution of a device's program ---- */

/* Updates that are staged, launched and collected. */
typedef struct group {
    int64_t *counts; /* examples of each */
    float *scalars;  /* [most, 1 + the options'] */
    float *sums;     /* [most, sums] */
    int *statuses;
} group;

static liana_status make_group(const liana_step *step, size_t most, group *own)
{
    own->counts = calloc(most, sizeof *own->counts);
    own->scalars = calloc(most * (1 + step->num_scalars), sizeof *own->scalars);
    own->sums = calloc(most * step->shards.num_sums, sizeof *own->sums);
    own->statuses = calloc(most, sizeof *own->statuses);
    const bool enough = own->counts && own->scalars && own->sums && own->statuses;
    return enough ? LIANA_OK : liana__fail_memory(&step->context->error, "a group of updates");
}

static void free_group(group *own)
{
    free(own->counts);
    free(own->scalars);
    free(own->sums);
    free(own->statuses);
}

static liana_status stage(liana_step *step, const liana__user_call *call, int64_t number, uint64_t position,
                          float *scalars, int64_t *count)
{
    liana__error *error = &step->context->error;
    liana_step_input batch;
    liana_setting settings[LIANA_MAX_SETTINGS];
    double values[LIANA_MAX_SETTINGS] = {0};
    liana__batch taken;
    LIANA_TRY(liana__user_ask_batch(step, call, number, &batch, error));
    LIANA_TRY(liana__user_ask_scalars(step, call, number, settings, error));
    LIANA_TRY(liana__user_take_batch(step, &batch, position, &taken, error));
    LIANA_TRY(liana__user_take_scalars(step, settings, values, error));
    *count = liana__batch_step_count(&taken);
    scalars[0] = (float)*count;
    for (size_t i = 0; i < step->num_scalars; i++) scalars[1 + i] = (float)values[i];
    return liana__step_stage(step->step, &taken, error);
}

/* Stages, launches and collects the updates [first, end). */
static liana_status execute(liana_step *step, const liana__user_call *call, int64_t first, int64_t end, group *own)
{
    liana__error *error = &step->context->error;
    const size_t width = 1 + step->num_scalars;
    uint64_t position = step->next_position;
    for (int64_t i = first; i < end; i++) {
        const size_t at = (size_t)(i - first);
        const liana_status status = stage(step, call, i, position, own->scalars + at * width, &own->counts[at]);
        position += (uint64_t)own->counts[at];
        if (status == LIANA_OK) continue;
        const liana__error kept = *error;
        const liana_status dropped = liana__step_drop_staged(step->step, error);
        (void)dropped; /* the first error counts */
        *error = kept;
        return status;
    }
    LIANA_TRY(liana__step_launch(step->step, own->scalars, error));
    return liana__step_collect(step->step, own->counts, own->sums, own->statuses, error);
}

/* An update whose numbers went bad is done again as the only one, which finds the fault. The updates behind it were
 * left out. */
static liana_status run_group(liana_step *step, const liana__user_call *call, int64_t first, int64_t end, group *own,
                              liana_step_outcome *outcomes, liana__user_tally *tally)
{
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, &step->context->error));
    const liana_status executed = execute(step, call, first, end, own);
    if (replicas) liana__replicas_leave(replicas);
    LIANA_TRY(executed);
    for (int64_t i = first; i < end; i++) {
        const size_t at = (size_t)(i - first);
        const float *sums = own->sums + at * step->shards.num_sums;
        liana_step_outcome outcome = {.used = 1};
        liana__user_set_results(step, sums, own->counts[at], &outcome.results);
        if (own->statuses[at] == LIANA__WHOLE_BAD_SUMS) {
            return run_in_step(step, call, i, i + 1, outcomes, tally);
        }
        if (outcomes) outcomes[i] = outcome;
        if (own->statuses[at] == LIANA__WHOLE_BAD_VALUES) {
            return liana__step_find_fault(step->step, sums, &step->context->error);
        }
        step->next_position += (uint64_t)own->counts[at];
        count_one(&outcome, tally);
    }
    return LIANA_OK;
}

static liana_status run_in_groups(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                  liana__user_tally *tally)
{
    const int64_t most = (int64_t)liana__step_most_staged(step->step);
    LIANA__SCOPED_BY(free_group) group own = {0};
    LIANA_TRY(liana__user_check_variables(step));
    LIANA_TRY(make_group(step, (size_t)most, &own));
    while (tally->counts.num_done < call->num_steps) {
        const int64_t first = tally->counts.num_done, left = call->num_steps - first;
        LIANA_TRY(run_group(step, call, first, first + (left < most ? left : most), &own, outcomes, tally));
    }
    return LIANA_OK;
}

liana_status liana__user_run_together(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                      liana__user_tally *tally)
{
    const bool groups = liana__step_most_staged(step->step) > 1 && !call->until_end;
    return groups ? run_in_groups(step, call, outcomes, tally)
                  : run_in_step(step, call, 0, call->num_steps, outcomes, tally);
}
