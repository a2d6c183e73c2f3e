/* Updates as programs of a device: shards, sums, checks and the update in one execution. */
#include "step/step_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

liana_status liana__step_check_whole_batch(const liana__step *step, int64_t shards, liana__error *error)
{
    const liana__step_plan *plan = &step->plan;
    const char *what = plan->shards->whole_batch;
    if (!what || !plan->update || shards * plan->microbatch >= plan->batch_size) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "%s are of the whole batch of %lld examples, but shards of %lld are computed apart; set "
                       "microbatch (train.microbatch) to %lld, or leave them out",
                       what, (long long)plan->batch_size, (long long)plan->microbatch, (long long)plan->batch_size);
}

static liana_status build_shards(void *user, int64_t shards, liana_graph **graph, liana__error *error)
{
    const liana__step *step = user;
    const liana__shard_rows rows = {step->plan.microbatch, shards, true};
    LIANA_TRY(liana__step_check_whole_batch(step, shards, error));
    return step->plan.shards->build(step->plan.shards->user, LIANA__STEP_TRAINING, &rows, graph, error);
}

static liana_status build_penalty(void *user, liana_graph **graph, liana__error *error)
{
    const liana__shard_builder *shards = ((const liana__step *)user)->plan.shards;
    return shards->build_penalty(shards->user, graph, error);
}

/* The components that a loader makes of records. The others are of positions, or of batches. */
static uint64_t find_tables(const liana__shard_builder *shards)
{
    uint64_t found = 0;
    for (size_t i = 0; i < shards->num_components; i++) found |= (uint64_t)shards->components[i].of_record << i;
    return found;
}

bool liana__step_plan_whole(liana__step *step, liana__whole_plan *plan)
{
    const liana__step_plan *own = &step->plan;
    const liana__update_builder *update = own->update;
    if (own->deterministic || update->host_changes_scalars || update->takes_non_finite) return false;
    *plan = (liana__whole_plan){
        .build_leaves = build_shards,
        .side_by_side = own->shards->side_by_side,
        .update = &update->functions,
        .build_penalty = own->shards->build_penalty ? build_penalty : NULL,
        .user = step,
        .num_scalars = 1 + update->num_scalars,
        .num_losses = own->shards->num_losses,
        .table_rows = own->table_rows,
        .in_tables = own->table_rows ? find_tables(own->shards) : 0,
        .most_steps = own->steps_per_execution > 1 ? (size_t)own->steps_per_execution : 1,
    };
    return true;
}

liana__whole *liana__step_whole(const liana__step *step)
{
    const liana__strategy_functions *functions = step->plan.strategy->functions;
    return functions->whole ? functions->whole(step->instance) : NULL;
}

bool liana__step_lend_whole_plan(liana__step *step, liana__leaf_plan *leaf, liana__whole_plan *plan)
{
    if (!step->whole.build_leaves) return false;
    *leaf = liana__step_plan_shards(step, LIANA__STEP_TRAINING);
    *plan = step->whole;
    plan->leaf = leaf;
    plan->variables = step->variables;
    return true;
}

/* ---- examples that the devices keep ---- */

bool liana__step_has_tables(const liana__step *step)
{
    return step->plan.table_rows > 0 && liana__step_whole(step);
}

liana_status liana__step_keep(liana__step *step, const liana__batch *batch, liana__error *error)
{
    LIANA_TRY(liana__step_check_batch(step, batch, false, error));
    const liana__leaf_batch shards = liana__step_shards(step, batch);
    return step->device->backend->whole->keep(liana__step_whole(step), &shards, error);
}

liana_status liana__step_send_kept(liana__step *step, liana__error *error)
{
    return step->device->backend->whole->keep(liana__step_whole(step), NULL, error);
}

/* ---- several updates ---- */

size_t liana__step_most_staged(const liana__step *step)
{
    return step->plan.update && liana__step_whole(step) ? step->whole.most_steps : 0;
}

liana_status liana__step_stage(liana__step *step, const liana__batch *batch, liana__error *error)
{
    liana__leaf_batch shards;
    LIANA_TRY(liana__step_begin_batch(step, batch, true, &shards, error));
    LIANA_TRY(step->device->backend->whole->stage(liana__step_whole(step), &shards, error));
    step->num_staged++;
    return LIANA_OK;
}

liana_status liana__step_launch(liana__step *step, const float *scalars, liana__error *error)
{
    step->num_launched = step->num_staged;
    step->num_staged = 0;
    const liana_status status = step->device->backend->whole->launch(liana__step_whole(step), scalars, error);
    return liana__step_name_error(step, status, error);
}

liana_status liana__step_collect(liana__step *step, const int64_t *counts, float *sums, int *statuses,
                                 liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    liana__whole *whole = liana__step_whole(step);
    const liana_status status = step->device->backend->whole->collect(whole, sums, step->penalties, statuses, error);
    LIANA_TRY(liana__step_name_error(step, status, error));
    for (size_t i = 0; step->penalty && i < step->num_launched; i++) {
        float *sum = &sums[i * shards->num_sums + shards->penalty_sum];
        *sum = (float)((double)*sum + (double)step->penalties[i] * (double)counts[i]);
    }
    return LIANA_OK;
}

liana_status liana__step_drop_staged(liana__step *step, liana__error *error)
{
    step->num_staged = 0;
    return step->device->backend->whole->drop(liana__step_whole(step), error);
}

liana_status liana__step_find_fault(liana__step *step, const float *sums, liana__error *error)
{
    memcpy(step->first_sum, sums, step->plan.shards->num_sums * sizeof *sums);
    step->fault = (liana__fault){0};
    return liana__step_check_values(step, error);
}

/* ---- one update ---- */

liana_status liana__step_run_whole(liana__step *step, const liana__batch *batch, liana__error *error)
{
    const int64_t count = liana__batch_step_count(batch);
    const size_t last = step->plan.update->num_scalars;
    int status;
    const uint64_t begin = liana__step_clock(step);
    LIANA_TRY(liana__step_stage(step, batch, error));
    LIANA_TRY(liana__step_launch(step, step->scalars, error));
    LIANA_TRY(liana__step_collect(step, &count, step->first_sum, &status, error));
    liana__step_record(step, LIANA__EVENT_UPDATE, begin, (int64_t)step->scalars[last]);
    if (status == LIANA__WHOLE_BAD_SUMS) return liana__step_run_parts(step, batch, error);
    if (status == LIANA__WHOLE_BAD_VALUES) return liana__step_check_values(step, error);
    return LIANA_OK;
}
