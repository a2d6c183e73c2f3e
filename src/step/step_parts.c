/* A batch by parts: shards and their sums, checks, the update. */
#include "step/step_internal.h"

#include "base/recorder.h"
#include "batch/cut.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the shards ---- */

liana_status liana__step_build_shard(const liana__step *step, liana__step_kind kind, int64_t size, bool masked,
                                     liana_graph **graph, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    *graph = NULL;
    return shards->build(shards->user, kind, &(liana__shard_rows){size, 1, masked}, graph, error);
}

static liana_status build_training(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    return liana__step_build_shard(user, LIANA__STEP_TRAINING, size, masked, graph, error);
}

static liana_status build_evaluation(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    return liana__step_build_shard(user, LIANA__STEP_EVALUATION, size, masked, graph, error);
}

static liana_status build_counting(void *user, int64_t size, bool masked, liana_graph **graph, liana__error *error)
{
    return liana__step_build_shard(user, LIANA__STEP_COUNTING, size, masked, graph, error);
}

int64_t liana__step_largest_batch(const liana__step *step, bool training)
{
    const liana__step_plan *plan = &step->plan;
    return training || !plan->evaluation_batch_size ? plan->batch_size : plan->evaluation_batch_size;
}

liana__leaf_plan liana__step_plan_shards(liana__step *step, liana__step_kind kind)
{
    static const char *const names[LIANA__NUM_STEP_KINDS] = {"training", "evaluation", "counting"};
    const liana__shard_builder *shards = step->plan.shards;
    const int64_t largest = liana__step_largest_batch(step, kind != LIANA__STEP_EVALUATION);
    liana__leaf_plan plan = {
        .name = shards->name ? shards->name : names[kind],
        .build = kind == LIANA__STEP_TRAINING     ? build_training
                 : kind == LIANA__STEP_EVALUATION ? build_evaluation
                                                  : build_counting,
        .user = step,
        .num_components = shards->num_components,
        .leaf_size = step->plan.microbatch,
        .max_leaves = (size_t)liana__cut_batch(largest, step->plan.microbatch).count,
        .gives_rows = kind == LIANA__STEP_EVALUATION && shards->gives_rows,
        .variables = step->variables,
    };
    for (size_t i = 0; i < plan.num_components; i++) plan.components[i] = shards->components[i].name.text;
    return plan;
}

/* ---- messages ---- */

void liana__step_record(const liana__step *step, liana__event_kind kind, uint64_t begin, int64_t number)
{
    const liana__device *device = step->device;
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)number};
    if (device->recorder) liana__recorder_add(device->recorder, device->num_tracks, event);
}

uint64_t liana__step_clock(const liana__step *step)
{
    return step->device->recorder ? liana__clock() : 0;
}

liana_status liana__step_name_error(const liana__step *step, liana_status status, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    if (status != LIANA_OK && shards->name_error) shards->name_error(shards->user, error);
    return status;
}

/* ---- a batch ---- */

liana_status liana__step_check_batch(const liana__step *step, const liana__batch *batch, bool training,
                                     liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    const int64_t largest = liana__step_largest_batch(step, training), count = liana__batch_step_count(batch);
    if (count < 1 || count > largest || batch->count > largest || batch->num_positions > largest) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch of %lld examples, expected 1 to %lld",
                           (long long)count, (long long)largest);
    }
    if (shards->num_kept && (count != step->plan.batch_size || batch->num_positions != count)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "layer '%s': stateful: found a batch of %lld examples, expected %lld in each; give a "
                           "number of examples that it divides, all of which can be read",
                           shards->keeper, (long long)count, (long long)step->plan.batch_size);
    }
    if (batch->count == 0 || !training || !shards->check_batch) return LIANA_OK;
    return shards->check_batch(shards->user, batch, error);
}

liana__leaf_batch liana__step_shards(liana__step *step, const liana__batch *batch)
{
    const liana__shard_builder *shards = step->plan.shards;
    liana__leaf_batch leaves = liana__shard_list_of(&step->shards, batch);
    leaves.records = batch->records;
    for (size_t i = 0; i < shards->num_components; i++) {
        const void *rows = liana__batch_rows_of(batch, shards->components[i].name.text);
        leaves.rows[i] = rows ? rows : shards->components[i].stand_in;
    }
    return leaves;
}

const void *liana__step_rows(const liana__step *step, const liana__leaf_batch *shards, const char *component)
{
    const liana__shard_builder *builder = step->plan.shards;
    for (size_t i = 0; i < builder->num_components; i++) {
        if (strcmp(builder->components[i].name.text, component) == 0) return shards->rows[i];
    }
    return NULL;
}

liana_status liana__step_begin_batch(liana__step *step, const liana__batch *batch, bool training,
                                     liana__leaf_batch *shards, liana__error *error)
{
    const liana__shard_builder *builder = step->plan.shards;
    LIANA_TRY(liana__step_check_batch(step, batch, training, error));
    *shards = liana__step_shards(step, batch);
    if (!training || !builder->num_counts) return LIANA_OK;
    LIANA_TRY(step->plan.strategy->functions->sum(step->instance, LIANA__STEP_COUNTING, shards, step->counts, error));
    builder->take_counts(builder->user, batch, step->counts);
    return LIANA_OK;
}

liana_status liana__step_add_penalty(liana__step *step, int64_t count, liana__error *error)
{
    float penalty, *sum = &step->first_sum[step->plan.shards->penalty_sum];
    if (!step->penalty) return LIANA_OK;
    LIANA_TRY(liana__program_run(step->penalty, error));
    LIANA_TRY(liana__program_fetch(step->penalty, 0, &penalty, error));
    *sum = (float)((double)*sum + (double)penalty * (double)count);
    return LIANA_OK;
}

liana_status liana__step_sum_batch(liana__step *step, const liana__batch *batch, bool training, void *outputs,
                                   size_t *num_shards, liana__error *error)
{
    liana__leaf_batch shards;
    LIANA_TRY(liana__step_begin_batch(step, batch, training, &shards, error));
    shards.outputs = outputs;
    shards.watch = training ? step->sum_watch : NULL;
    *num_shards = shards.num_leaves;
    const liana__step_kind kind = training ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION;
    LIANA_TRY(step->plan.strategy->functions->sum(step->instance, kind, &shards, step->first_sum, error));
    return liana__step_add_penalty(step, liana__batch_step_count(batch), error);
}

/* ---- numbers that are not finite ---- */

const liana__fault *liana__step_fault(const liana__step *step)
{
    return &step->fault;
}

static liana_status fail(const liana__step *step, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    char text[640];
    liana__fail(error, LIANA_OUT_OF_RANGE, "%s", liana__fault_describe(&step->fault, text, sizeof text));
    if (shards->explain_fault) shards->explain_fault(shards->user, &step->fault, error);
    return LIANA_OUT_OF_RANGE;
}

static bool looks(const liana__step *step)
{
    return !step->plan.update || !step->plan.update->takes_non_finite;
}

static liana_status look(liana__step *step, liana__checked what, liana__fault_kind kind, liana__error *error)
{
    const liana__update_builder *update = step->plan.update;
    liana__non_finite found;
    if (!looks(step)) return LIANA_OK;
    LIANA_TRY(step->plan.strategy->functions->check(step->instance, what, &found, error));
    if (found.count == 0) return LIANA_OK;
    const bool is_named = what == LIANA__CHECK_SUMS && update->name_sum;
    const char *name = is_named ? update->name_sum(update->functions.user, found.name) : found.name;
    step->fault = (liana__fault){.kind = kind, .count = found.count};
    snprintf(step->fault.name, sizeof step->fault.name, "%s", name);
    return fail(step, error);
}

liana_status liana__step_check_sums(liana__step *step, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    step->fault = (liana__fault){0};
    if (!looks(step) || !shards->find_fault(shards->user, step->first_sum, &step->fault)) return LIANA_OK;
    return fail(step, error);
}

liana_status liana__step_check_values(liana__step *step, liana__error *error)
{
    return look(step, LIANA__CHECK_VARIABLES, LIANA__FAULT_UPDATE, error);
}

liana_status liana__step_check_scalars(liana__step *step, const float *scalars, liana__error *error)
{
    const liana__update_builder *update = step->plan.update;
    for (size_t i = 0; looks(step) && i < update->num_scalars; i++) {
        if (isfinite(scalars[1 + i])) continue;
        step->fault = (liana__fault){.kind = LIANA__FAULT_SCALAR, .value = step->given[i], .count = 1};
        snprintf(step->fault.name, sizeof step->fault.name, "%s", update->scalar_names[i]);
        return fail(step, error);
    }
    return LIANA_OK;
}

/* ---- an update ---- */

liana_status liana__step_run_parts(liana__step *step, const liana__batch *batch, liana__error *error)
{
    size_t num_shards;
    uint64_t begin = liana__step_clock(step);
    LIANA_TRY(liana__step_sum_batch(step, batch, true, NULL, &num_shards, error));
    liana__step_record(step, LIANA__EVENT_SHARDS, begin, (int64_t)num_shards);
    begin = liana__step_clock(step);
    LIANA_TRY(liana__step_check_sums(step, error));
    LIANA_TRY(look(step, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, error));
    LIANA_TRY(liana__step_check_scalars(step, step->scalars, error));
    LIANA_TRY(step->plan.strategy->functions->update(step->instance, step->scalars, error));
    LIANA_TRY(liana__step_check_values(step, error));
    liana__step_record(step, LIANA__EVENT_UPDATE, begin, (int64_t)step->scalars[step->plan.update->number_scalar]);
    return LIANA_OK;
}
