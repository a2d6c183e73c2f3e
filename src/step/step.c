/* One update, or one evaluation of a batch, as a strategy computes it. */
#include "base/scoped.h"
#include "step/step_internal.h"

#include "step/exchange.h"

#include <stdlib.h>
#include <string.h>

/* Sums that are no gradient are statistics of variables that no update trains. */
static bool is_gradient(void *user, size_t sum)
{
    const liana__step *step = user;
    return sum > 0 && step->plan.shards->sums->items[sum - 1].is_gradient;
}

/* ---- setting up ---- */

static size_t num_scalars(const liana__step *step)
{
    return 1 + (step->plan.update ? step->plan.update->num_scalars : 0);
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
        plan.update = &update->functions;
        plan.is_gradient = is_gradient;
        if (liana__step_plan_whole(step, &step->whole)) plan.whole = &step->whole;
    }
    return step->plan.strategy->create(&step->plan.devices, &plan, &step->instance, error);
}

/* An update without a value of its own begins at zero. */
static liana_status add_variable(liana__step *step, const liana__update_variable *variable, liana__error *error)
{
    LIANA__SCOPED_MEMORY float *values = NULL;
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
    return liana__variables_add(step->variables, variable->name, variable->dtype, &variable->shape, values, error);
}

/* Rows with the kept variables at their end, and one of these variables. */
static liana_status make_kept(liana__step *step, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    int64_t width = shards->row_values, widest = 0;
    for (size_t i = 0; i < shards->num_kept; i++) {
        width += shards->kept[i].values;
        if (shards->kept[i].values > widest) widest = shards->kept[i].values;
    }
    if (!shards->num_kept) return LIANA_OK;
    step->rows = malloc((size_t)(step->plan.batch_size * width) * sizeof *step->rows);
    step->kept = malloc((size_t)(step->plan.batch_size * widest) * sizeof *step->kept);
    return step->rows && step->kept ? LIANA_OK : liana__fail_memory(error, "a step");
}

static liana_status make_room(liana__step *step, liana__error *error)
{
    const liana__step_plan *plan = &step->plan;
    const liana__shard_builder *shards = plan->shards;
    const int64_t trained = liana__step_largest_batch(step, true), evaluated = liana__step_largest_batch(step, false);
    const struct liana__cluster *cluster = plan->strategy->needs_cluster ? plan->devices.cluster : NULL;
    LIANA_TRY(liana__shard_list_create(trained > evaluated ? trained : evaluated, plan->microbatch, cluster,
                                       &step->shards, error));
    step->first_sum = calloc(shards->num_sums + 1, sizeof *step->first_sum);
    step->counts = calloc(shards->num_counts + 1, sizeof *step->counts);
    step->penalties = calloc((size_t)plan->steps_per_execution + 1, sizeof *step->penalties);
    step->scalars = calloc(num_scalars(step), sizeof *step->scalars);
    step->given = calloc(num_scalars(step), sizeof *step->given);
    LIANA_TRY(make_kept(step, error));
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
    if (!liana__step_whole(step)) LIANA_TRY(liana__step_check_whole_batch(step, 1, error));
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
    free(step->rows);
    free(step->kept);
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

/* ---- members ---- */

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

liana_status liana__step_read_sum(liana__step *step, const char *input, void *data, liana__error *error)
{
    const liana__update_functions *update = &step->plan.update->functions;
    const size_t sum = update->find_sum(update->user, input);
    return step->plan.strategy->functions->read_sum(step->instance, sum, data, error);
}

size_t liana__step_num_gradients(const liana__step *step)
{
    const liana__strategy_devices *devices = &step->plan.devices;
    const bool in_step = !liana__span_steps_of(step->plan.strategy, devices->options, devices->cluster);
    return in_step && step->plan.update ? step->plan.shards->sums->num_gradients : 0;
}

const liana__step_sum *liana__step_gradient(const liana__step *step, size_t index)
{
    return &step->plan.shards->sums->items[index];
}

liana_status liana__step_read_gradient(const liana__step *step, size_t index, float *data, liana__error *error)
{
    return step->plan.strategy->functions->read_sum(step->instance, 1 + index, data, error);
}

void liana__step_watch_sums(liana__step *step, const liana__sum_watch *watch)
{
    step->sum_watch = watch;
}

/* Whether a batch has no example left; then its sums are of nothing. */
static bool all_missing(liana__step *step, const liana__batch *batch)
{
    if (liana__batch_step_count(batch) > 0 || batch->num_positions == 0) return false;
    memset(step->first_sum, 0, step->plan.shards->num_sums * sizeof *step->first_sum);
    return true;
}

/* ---- an update ---- */

/* One update takes all workers. */
static liana_status check_in_step(const liana__step *step, liana__error *error)
{
    const liana__strategy_devices *devices = &step->plan.devices;
    if (!liana__span_steps_of(step->plan.strategy, devices->options, devices->cluster)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "all workers take part in an update that is measured or tried, so it cannot be asynchronous or "
                       "take the first gradients only: use synchronous updates of all workers for it");
}

liana_status liana__step_sum_gradients(liana__step *step, const liana__batch *batch, liana__error *error)
{
    size_t num_shards;
    if (!liana__step_whole(step) || all_missing(step, batch)) return LIANA_OK;
    return liana__step_name_error(step, liana__step_sum_batch(step, batch, true, NULL, &num_shards, error), error);
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

/* Takes the rows apart: those that the caller wants, and the new values of variables. */
static liana_status keep_values(liana__step *step, float *outputs, liana__error *error)
{
    const liana__shard_builder *shards = step->plan.shards;
    const int64_t count = step->plan.batch_size;
    int64_t width = shards->row_values, begin = shards->row_values;
    for (size_t i = 0; i < shards->num_kept; i++) width += shards->kept[i].values;
    for (int64_t row = 0; outputs && row < count; row++) {
        memcpy(outputs + row * begin, step->rows + row * width, (size_t)begin * sizeof *outputs);
    }
    for (size_t i = 0; i < shards->num_kept; i++) {
        const int64_t values = shards->kept[i].values;
        for (int64_t row = 0; row < count; row++) {
            memcpy(step->kept + row * values, step->rows + row * width + begin, (size_t)values * sizeof *step->kept);
        }
        liana__variable *variable = liana__variables_find(step->variables, shards->kept[i].variable);
        LIANA_TRY(liana__variable_write(variable, step->kept, error));
        begin += values;
    }
    return LIANA_OK;
}

static liana_status measure(liana__step *step, const liana__batch *batch, void *outputs, liana__error *error)
{
    size_t num_shards;
    void *rows = step->rows ? step->rows : outputs;
    LIANA_TRY(liana__step_sum_batch(step, batch, false, rows, &num_shards, error));
    return step->rows ? keep_values(step, outputs, error) : LIANA_OK;
}

liana_status liana__step_measure(liana__step *step, const liana__batch *batch, void *outputs, const float **sums,
                                 liana__error *error)
{
    *sums = step->first_sum;
    if (all_missing(step, batch)) return LIANA_OK;
    return liana__step_name_error(step, measure(step, batch, outputs, error), error);
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
