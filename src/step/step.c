/* One update, or one evaluation of a batch, as a strategy computes it. */
#include "step/step_internal.h"

#include "base/recorder.h"
#include "batch/cut.h"
#include "distribute/cluster/cluster.h"
#include "step/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the builders, as a strategy wants them ---- */

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

static const liana__update_builder *update_of(const void *user)
{
    return ((const liana__step *)user)->plan.update;
}

static liana_status build_update(void *user, liana_graph **graph, liana__error *error)
{
    return update_of(user)->build(update_of(user)->user, LIANA__WHOLE_UPDATE, graph, error);
}

static liana_status build_round(void *user, size_t round, liana_graph **graph, liana__error *error)
{
    return update_of(user)->build_round(update_of(user)->user, LIANA__WHOLE_UPDATE, round, graph, error);
}

static liana_status finish_round(void *user, size_t round, const float *chunk_sums, float *scalars,
                                 const float **finished, liana__error *error)
{
    return update_of(user)->finish_round(update_of(user)->user, round, chunk_sums, scalars, finished, error);
}

static size_t find_sum(void *user, const char *input)
{
    return update_of(user)->find_sum(update_of(user)->user, input);
}

/* Sums that are no gradient are statistics of variables that no update trains. */
static bool is_gradient(void *user, size_t sum)
{
    const liana__step *step = user;
    return sum > 0 && step->plan.shards->sums->items[sum - 1].is_gradient;
}

static liana_status cut_update(void *user, size_t num_slices, liana__error *error)
{
    return update_of(user)->cut(update_of(user)->user, num_slices, error);
}

static liana_status build_slice(void *user, size_t slice, liana_graph **graph, liana__error *error)
{
    return update_of(user)->build(update_of(user)->user, slice, graph, error);
}

static liana_status build_slice_round(void *user, size_t slice, size_t round, liana_graph **graph, liana__error *error)
{
    return update_of(user)->build_round(update_of(user)->user, slice, round, graph, error);
}

static size_t first_finished(void *user, size_t slice, size_t round)
{
    return update_of(user)->first_finished(update_of(user)->user, slice, round);
}

static const liana__update_slicing slicing = {cut_update, build_slice, build_slice_round, first_finished};

/* ---- setting up ---- */

static int64_t largest_batch(const liana__step *step, bool training)
{
    const liana__step_plan *plan = &step->plan;
    return training || !plan->evaluation_batch_size ? plan->batch_size : plan->evaluation_batch_size;
}

static size_t num_scalars(const liana__step *step)
{
    return 1 + (step->plan.update ? step->plan.update->num_scalars : 0);
}

liana__leaf_plan liana__step_plan_shards(liana__step *step, liana__step_kind kind)
{
    static const char *const names[LIANA__NUM_STEP_KINDS] = {"training", "evaluation", "counting"};
    const liana__shard_builder *shards = step->plan.shards;
    const int64_t largest = largest_batch(step, kind != LIANA__STEP_EVALUATION);
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

static liana_status make_strategy(liana__step *step, liana__error *error)
{
    const liana__update_builder *update = step->plan.update;
    const liana__shard_builder *shards = step->plan.shards;
    liana__leaf_plan leaves[LIANA__NUM_STEP_KINDS];
    liana__strategy_plan plan = {.user = step,
                                 .num_scalars = num_scalars(step),
                                 .variables = step->variables,
                                 .num_leaf_variables = shards->num_leaf_variables};
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (!shards->builds[kind]) continue;
        leaves[kind] = liana__step_plan_shards(step, (liana__step_kind)kind);
        plan.leaves[kind] = &leaves[kind];
    }
    if (update) {
        plan.build_update = build_update;
        plan.build_sums = build_round;
        plan.finish_sums = finish_round;
        plan.find_sum = find_sum;
        plan.is_gradient = is_gradient;
        plan.num_sum_rounds = update->num_rounds;
        if (update->cut) plan.slicing = &slicing;
        if (liana__step_plan_whole(step, &step->whole)) plan.whole = &step->whole;
    }
    return step->plan.strategy->create(&step->plan.devices, &plan, &step->instance, error);
}

/* An update without a value of its own begins at zero. */
static liana_status add_variable(liana__step *step, const liana__update_variable *variable, liana__error *error)
{
    float *values = NULL;
    const liana__strategy_functions *functions = step->plan.strategy->functions;
    if (functions->hold && !step->plan.update->shares_variables) {
        return functions->hold(step->instance, variable->name, variable->dtype, &variable->shape, variable->begins_at,
                               error);
    }
    if (variable->begins_at != 0) {
        const int64_t count = liana_shape_size(&variable->shape);
        values = malloc((size_t)count * sizeof *values);
        if (!values) return liana__fail_memory(error, variable->name);
        for (int64_t i = 0; i < count; i++) values[i] = (float)variable->begins_at;
    }
    const liana_status status =
        liana__variables_add(step->variables, variable->name, variable->dtype, &variable->shape, values, error);
    free(values);
    return status;
}

static liana_status make_room(liana__step *step, liana__error *error)
{
    const liana__step_plan *plan = &step->plan;
    const liana__shard_builder *shards = plan->shards;
    const int64_t trained = largest_batch(step, true), evaluated = largest_batch(step, false);
    const struct liana__cluster *cluster = plan->strategy->needs_cluster ? plan->devices.cluster : NULL;
    LIANA_TRY(liana__shard_list_create(trained > evaluated ? trained : evaluated, plan->microbatch, cluster,
                                       &step->shards, error));
    step->first_sum = calloc(shards->num_sums + 1, sizeof *step->first_sum);
    step->counts = calloc(shards->num_counts + 1, sizeof *step->counts);
    step->penalties = calloc((size_t)plan->steps_per_execution + 1, sizeof *step->penalties);
    step->scalars = calloc(num_scalars(step), sizeof *step->scalars);
    step->given = calloc(num_scalars(step), sizeof *step->given);
    const bool enough = step->first_sum && step->counts && step->penalties && step->scalars && step->given;
    return enough ? LIANA_OK : liana__fail_memory(error, "a step");
}

static liana_status make_penalty(liana__step *step, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    liana_graph *graph;
    if (!shards->build_penalty) return LIANA_OK;
    LIANA_TRY(shards->build_penalty(shards->user, &graph, error));
    return liana__program_create(step->device, graph, "penalty", step->variables, &step->penalty, error);
}

static liana_status set_up(liana__step *step, liana__error *error)
{
    const liana__update_builder *update = step->plan.update;
    LIANA_TRY(make_room(step, error));
    LIANA_TRY(make_penalty(step, error));
    LIANA_TRY(make_strategy(step, error));
    for (size_t i = 0; update && i < update->num_variables; i++) {
        LIANA_TRY(add_variable(step, &update->variables[i], error));
    }
    return LIANA_OK;
}

liana_status liana__step_create(const liana__step_plan *plan, liana__variables *variables, liana__step **out,
                                liana__error *error)
{
    *out = NULL;
    liana__step *step = calloc(1, sizeof *step);
    if (!step) return liana__fail_memory(error, "a step");
    step->plan = *plan;
    step->device = plan->devices.items[0];
    step->variables = variables;
    const liana_status status = liana__step_name_error(step, set_up(step, error), error);
    if (status != LIANA_OK) {
        liana__step_destroy(step);
        return status;
    }
    *out = step;
    return LIANA_OK;
}

void liana__step_destroy(liana__step *step)
{
    if (!step) return;
    if (step->instance) step->plan.strategy->functions->destroy(step->instance);
    liana__program_destroy(step->penalty);
    liana__shard_list_free(&step->shards);
    free(step->first_sum);
    free(step->counts);
    free(step->penalties);
    free(step->scalars);
    free(step->given);
    free(step);
}

static liana_status prepare(liana__step *step, int64_t count, bool training, liana__error *error)
{
    const liana__strategy_functions *functions = step->plan.strategy->functions;
    liana__leaf_batch batch = liana__shard_list_whole(&step->shards, count);
    if (training && step->plan.shards->num_counts) {
        LIANA_TRY(functions->prepare(step->instance, LIANA__STEP_COUNTING, &batch, error));
    }
    return functions->prepare(step->instance, training ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION, &batch, error);
}

liana_status liana__step_prepare(liana__step *step, int64_t count, bool training, liana__error *error)
{
    return liana__step_name_error(step, prepare(step, count, training, error), error);
}

/* ---- what it is made of ---- */

const liana__step_plan *liana__step_plan_of(const liana__step *step)
{
    return &step->plan;
}

const liana__variables *liana__step_variables(const liana__step *step)
{
    return step->variables;
}

struct liana__cluster *liana__step_cluster(const liana__step *step)
{
    return step->plan.strategy->needs_cluster ? step->plan.devices.cluster : NULL;
}

size_t liana__step_num_replicas_in_sync(const liana__step *step)
{
    return step->plan.strategy->functions->num_replicas_in_sync(step->instance);
}

liana__step_memory liana__step_memory_of(const liana__step *step)
{
    liana__replica_memory needed;
    liana__step *own = (liana__step *)(uintptr_t)step;
    liana__leaf_batch batch = liana__shard_list_whole(&own->shards, step->plan.batch_size);
    step->plan.strategy->functions->memory(step->instance, LIANA__STEP_TRAINING, &batch, &needed);
    size_t held = atomic_load(&step->device->bytes_held);
    return (liana__step_memory){.bytes = held + needed.workspace,
                                .bytes_before = held + needed.workspace_before,
                                .num_segments = needed.num_segments,
                                .flops_again = needed.flops,
                                .flops_before = needed.flops_before};
}

void liana__step_watch_sums(liana__step *step, const liana__sum_watch *watch)
{
    step->sum_watch = watch;
}

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
    const int64_t largest = largest_batch(step, training), count = liana__batch_step_count(batch);
    if (count < 1 || count > largest || batch->count > largest || batch->num_positions > largest) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a batch of %lld examples, expected 1 to %lld",
                           (long long)count, (long long)largest);
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

liana_status liana__step_read_sum(liana__step *step, const char *input, void *data, liana__error *error)
{
    return step->plan.strategy->functions->read_sum(step->instance, find_sum(step, input), data, error);
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

static liana_status sum_batch(liana__step *step, const liana__batch *batch, bool training, void *outputs,
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

/* Whether a batch has no example left; then its sums are of nothing. */
static bool all_missing(liana__step *step, const liana__batch *batch)
{
    if (liana__batch_step_count(batch) > 0 || batch->num_positions == 0) return false;
    memset(step->first_sum, 0, step->plan.shards->num_sums * sizeof *step->first_sum);
    return true;
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
    const char *name = is_named ? update->name_sum(update->user, found.name) : found.name;
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
    LIANA_TRY(sum_batch(step, batch, true, NULL, &num_shards, error));
    liana__step_record(step, LIANA__EVENT_SHARDS, begin, (int64_t)num_shards);
    begin = liana__step_clock(step);
    LIANA_TRY(liana__step_check_sums(step, error));
    LIANA_TRY(look(step, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, error));
    LIANA_TRY(liana__step_check_scalars(step, step->scalars, error));
    LIANA_TRY(step->plan.strategy->functions->update(step->instance, step->scalars, error));
    LIANA_TRY(liana__step_check_values(step, error));
    liana__step_record(step, LIANA__EVENT_UPDATE, begin, (int64_t)step->scalars[num_scalars(step) - 1]);
    return LIANA_OK;
}

/* One update takes all workers. */
static liana_status check_in_step(const liana__step *step, liana__error *error)
{
    const liana__strategy_devices *devices = &step->plan.devices;
    if (!liana__span_steps_of(step->plan.strategy, devices->options, devices->cluster)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "all workers take part in an update that is measured or tried, so it cannot be asynchronous or "
                       "take the first gradients only: use synchronous updates of all workers for it");
}

static liana_status run_update(liana__step *step, const liana__batch *batch, const double *scalars, bool by_parts,
                               liana__error *error)
{
    const size_t count = step->plan.update->num_scalars;
    step->fault = (liana__fault){0};
    LIANA_TRY(check_in_step(step, error));
    if (all_missing(step, batch)) return LIANA_OK;
    step->scalars[0] = (float)liana__batch_step_count(batch);
    for (size_t i = 0; i < count; i++) {
        step->given[i] = scalars[i];
        step->scalars[1 + i] = (float)scalars[i];
    }
    const bool whole = !by_parts && liana__step_whole(step);
    return (whole ? liana__step_run_whole : liana__step_run_parts)(step, batch, error);
}

liana_status liana__step_update(liana__step *step, const liana__batch *batch, const double *scalars, const float **sums,
                                liana__error *error)
{
    *sums = step->first_sum;
    return liana__step_name_error(step, run_update(step, batch, scalars, false, error), error);
}

liana_status liana__step_update_by_parts(liana__step *step, const liana__batch *batch, const double *scalars,
                                         liana__error *error)
{
    return liana__step_name_error(step, run_update(step, batch, scalars, true, error), error);
}

liana_status liana__step_update_in_section(liana__step *step, const liana__batch *batch, const double *scalars,
                                           const float **sums, liana__error *error)
{
    liana__cluster *cluster = liana__step_cluster(step);
    liana_status status;
    do {
        liana__cluster_section_begin(cluster);
        status = liana__step_update(step, batch, scalars, sums, error);
        const bool went_bad = step->fault.kind != LIANA__FAULT_NONE;
        if (status == LIANA_OK || went_bad) status = liana__cluster_section_leave(cluster, status, error);
    } while (liana__cluster_repeats(cluster, &status, error));
    return status;
}

/* ---- an evaluation ---- */

liana_status liana__step_measure(liana__step *step, const liana__batch *batch, void *outputs, const float **sums,
                                 liana__error *error)
{
    size_t num_shards;
    *sums = step->first_sum;
    if (all_missing(step, batch)) return LIANA_OK;
    return liana__step_name_error(step, sum_batch(step, batch, false, outputs, &num_shards, error), error);
}

liana_status liana__step_measure_in_section(liana__step *step, const liana__batch *batch, void *outputs,
                                            const float **sums, liana__error *error)
{
    liana__cluster *cluster = liana__step_cluster(step);
    liana_status status;
    do {
        liana__cluster_section_begin(cluster);
        status = liana__step_measure(step, batch, outputs, sums, error);
        if (status == LIANA_OK) status = liana__cluster_section_end(cluster, error);
    } while (liana__cluster_repeats(cluster, &status, error));
    return status;
}
