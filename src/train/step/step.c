/* Steps: setting one up, and running it batch after batch. */
#include "train/step/step.h"

#include "backends/pjrt/platform.h"
#include "base/context.h"
#include "base/named.h"
#include "data/loader/cut.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "program/device.h"
#include "train/core/fault.h"
#include "train/core/precision.h"
#include "train/core/program_agreement.h"
#include "train/model/model_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana__step_kind kind_of(const liana_step *step)
{
    return step->options.update ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION;
}

/* ---- options ---- */

static liana_status check_component(const liana_step *step, size_t index, liana__error *error)
{
    const liana_component *given = &step->options.components[index];
    const char *name = given->name ? given->name : "", *wrong = NULL;
    const bool is_number = given->dtype >= 0 && given->dtype < LIANA_NUM_DTYPES;
    if (!*name) wrong = "has no name";
    if (strcmp(name, "positions") == 0 || strcmp(name, "present") == 0) wrong = "has a name that steps use themselves";
    if (!is_number) wrong = "has no dtype of numbers";
    bool fits = is_number && given->shape.rank >= 0 && given->shape.rank < LIANA_MAX_RANK &&
                liana__shape_valid((liana_dtype)given->dtype, &given->shape);
    if (is_number && !fits) wrong = "has no shape of an example: expected rank 0 to 7 and dimensions of at least 1";
    for (size_t i = 0; !wrong && i < index; i++) {
        if (strcmp(step->options.components[i].name, name) == 0) wrong = "stands there twice";
    }
    if (!wrong) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: component %zu ('%.100s') %s", step->options.name, index,
                       name, wrong);
}

static liana_status check_options(const liana_step *step, liana__error *error)
{
    const liana_step_options *options = &step->options;
    if (!options->leaf) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the options have no leaf function", options->name);
    }
    if (options->num_components == 0 || options->num_components > LIANA_MAX_COMPONENTS || !options->components) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: a batch has %zu components, expected 1 to %d",
                           options->name, options->components ? options->num_components : 0, LIANA_MAX_COMPONENTS);
    }
    if (options->batch_size < 0 || options->batch_size > INT32_MAX || options->microbatch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: batch_size is %lld and microbatch %lld, expected 0 or more", options->name,
                           (long long)options->batch_size, (long long)options->microbatch);
    }
    if ((unsigned)options->precision > LIANA_PRECISION_AUTO) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the precision %d is no liana_precision", options->name,
                           (int)options->precision);
    }
    for (size_t i = 0; i < options->num_components; i++) LIANA_TRY(check_component(step, i, error));
    return LIANA_OK;
}

/* Copies what the options point to, and sets the defaults. */
static liana_status keep_options(liana_step *step, const liana_step_options *given, liana__error *error)
{
    liana_step_options *options = &step->options;
    *options = *given;
    options->name = liana__arena_string(&step->arena, given->name ? given->name : "step");
    if (!options->name) return liana__fail_memory(error, "a step");
    LIANA_TRY(check_options(step, error));
    if (options->batch_size == 0) options->batch_size = 32;
    if (options->microbatch == 0) options->microbatch = 32;
    if (options->microbatch > options->batch_size) options->microbatch = options->batch_size;
    liana_component *components = liana__arena_allocate(&step->arena, options->num_components * sizeof *components);
    for (size_t i = 0; components && i < options->num_components; i++) {
        components[i] = given->components[i];
        components[i].name = liana__arena_string(&step->arena, given->components[i].name);
    }
    options->components = components;
    while (step->num_scalars < LIANA_MAX_SETTINGS && given->scalars[step->num_scalars]) {
        const char *name = given->scalars[step->num_scalars];
        options->scalars[step->num_scalars++] = liana__arena_string(&step->arena, name);
    }
    return step->arena.failed ? liana__fail_memory(error, "a step") : LIANA_OK;
}

/* ---- setting up ---- */

/* Adds a graph's variables to the set. */
static liana_status declare(liana_step *step, const liana_graph *graph, liana__error *error)
{
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        size_t place;
        liana_status status =
            liana__variables_declare(step->variables, node->name, node->dtype, &node->shape, node->initializer, &place);
        if (status != LIANA_OK) return liana__fail_within(error, "%s", step->options.name);
    }
    return LIANA_OK;
}

/* Marks the variables that a graph has. */
static void mark(liana_step *step, const liana_graph *graph)
{
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__variable *variable = liana__variables_find(&step->variables->values, graph->variables[i]->name);
        step->is_used[variable - step->variables->values.items] = true;
    }
}

/* Builds both graphs once, to find the variables and the sums. */
static liana_status find_variables(liana_step *step, liana__error *error)
{
    liana_graph *leaf = NULL, *update = NULL;
    const liana_step_options *options = &step->options;
    liana_status status =
        liana__step_build_leaf(step, options->microbatch, step->device->backend->static_leaves, &leaf, error);
    if (status == LIANA_OK) status = declare(step, leaf, error);
    if (status == LIANA_OK && options->update) status = liana__step_build_update(step, &update, error);
    if (status == LIANA_OK && update) status = declare(step, update, error);
    if (status == LIANA_OK) {
        step->num_known = step->variables->values.count;
        step->is_used = calloc(step->num_known + 1, sizeof *step->is_used);
        if (!step->is_used) status = liana__fail_memory(error, "a step");
    }
    if (status == LIANA_OK) mark(step, leaf);
    for (size_t i = 0; status == LIANA_OK && i < step->num_known; i++) {
        if (step->is_used[i]) step->num_leaf_variables = i + 1;
    }
    if (status == LIANA_OK && update) mark(step, update);
    if (leaf) liana_graph_destroy(leaf);
    if (update) liana_graph_destroy(update);
    return status;
}

static liana__leaf_batch cut_batch(liana_step *step, int64_t count)
{
    liana__cut cut = liana__cut_batch(count, step->options.microbatch);
    for (int64_t i = 0; i < cut.count; i++) {
        step->leaves[i] = (liana__leaf){liana__cut_begin(&cut, i), liana__cut_size(&cut, i)};
    }
    return (liana__leaf_batch){.leaves = step->leaves, .num_leaves = (size_t)cut.count, .end = (size_t)cut.count};
}

/* The devices are those of open replicas. */
static liana_status take_replicas(liana_step *step, liana__strategy_choice *choice, liana__error *error)
{
    const liana_replicas *replicas = step->options.replicas;
    const char *wrong = NULL;
    if (step->options.strategy.name) wrong = "it has a strategy besides its replicas; leave one of them out";
    if (step->device != replicas->first.device) {
        wrong = "its device is not that of its replicas (liana_replicas_device)";
    }
    if (wrong) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: %s", step->options.name, wrong);
    *choice = replicas->choice;
    step->strategy = choice->strategy;
    step->cluster = replicas->cluster;
    step->worker_ends = calloc(replicas->num_processes, sizeof *step->worker_ends);
    return step->worker_ends ? LIANA_OK : liana__fail_memory(error, step->options.name);
}

static liana_status open_devices(liana_step *step, liana__strategy_choice *choice, liana__error *error)
{
    LIANA_TRY(liana__strategy_of(&step->options.strategy, &step->arena, choice, error));
    step->strategy = choice->strategy;
    if (choice->strategy->needs_cluster) {
        LIANA_TRY(liana__cluster_require(step->context, choice->strategy->name, &step->cluster, error));
    }
    return liana__device_set_open(step->context, step->device->opened_as, choice, step->device, &step->devices, error);
}

/* All workers take part in each run. */
static liana_status check_in_step(const liana_step *step, const liana__strategy_choice *choice, liana__error *error)
{
    const liana__strategy *strategy = choice->strategy;
    const size_t num_workers = step->cluster ? step->cluster->place.num_workers : 1;
    if (!strategy->span_steps || !strategy->span_steps(choice->options, num_workers)) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "%s: all workers take part in a step of one's own, so it cannot be asynchronous or take the first "
        "gradients only: use synchronous updates of all workers, or liana_fit",
        step->options.name);
}

/* The devices are also of others, whose programs are not this step's business. */
static liana_status prepare(liana_step *step, const liana__device_set *set, liana__error *error)
{
    const bool by_default = step->options.precision == LIANA_FLOAT32_DEFAULT;
    for (size_t i = 0; i < set->count; i++) liana__pjrt_set_products(set->items[i], by_default);
    liana__leaf_batch batch = cut_batch(step, step->options.batch_size);
    const liana_status status = step->strategy->functions->prepare(step->instance, kind_of(step), &batch, error);
    for (size_t i = 0; i < set->count; i++) liana__pjrt_set_products(set->items[i], false);
    return status;
}

static liana_status make_strategy(liana_step *step, liana__error *error)
{
    const liana_step_options *options = &step->options;
    liana__leaf_plan leaves = {
        .name = options->name,
        .build = liana__step_build_leaf,
        .user = step,
        .leaf_size = options->microbatch,
        .max_leaves = (size_t)liana__cut_batch(options->batch_size, options->microbatch).count,
        .variables = &step->variables->values,
    };
    for (size_t i = 0; i < options->num_components; i++) leaves.components[i] = options->components[i].name;
    leaves.components[options->num_components] = "positions";
    leaves.num_components = options->num_components + 1;
    liana__strategy_plan plan = {.build_update = liana__step_build_update,
                                 .find_sum = liana__step_find_sum,
                                 .is_gradient = liana__step_is_gradient,
                                 .user = step,
                                 .num_scalars = 1 + step->num_scalars,
                                 .variables = &step->variables->values,
                                 .num_leaf_variables = step->num_leaf_variables};
    plan.leaves[kind_of(step)] = &leaves;
    const liana__device_set *set = options->replicas ? &options->replicas->devices : &step->devices;
    liana__strategy_choice choice;
    LIANA_TRY(options->replicas ? take_replicas(step, &choice, error) : open_devices(step, &choice, error));
    LIANA_TRY(check_in_step(step, &choice, error));
    const liana__strategy_devices devices = {.items = set->items,
                                             .count = set->count,
                                             .groups = set->groups,
                                             .cluster = step->cluster,
                                             .options = choice.options};
    LIANA_TRY(step->strategy->create(&devices, &plan, &step->instance, error));
    return prepare(step, set, error);
}

/* Keeps what the other processes will be told of the update: its function is called while the step is made, and not later. */
static liana_status describe_update(liana_step *step, liana__error *error)
{
    liana_graph *graph = NULL;
    if (!step->cluster || !step->options.update) return LIANA_OK;
    const char *name = liana__arena_format(&step->arena, "the update of %s", step->options.name);
    if (!name) return liana__fail_memory(error, "a step");
    LIANA_TRY(liana__step_build_update(step, &graph, error));
    liana__facts_add_graph(&step->update_facts, name, graph);
    liana__facts_add_ops(&step->update_facts, name, graph);
    liana_graph_destroy(graph);
    return LIANA_OK;
}

/* With the other processes, if there are any: the graph of a shard, the variables, what they compute, and the graph of the
 * update. Once, when the variables have values. */
static liana_status agree(liana_step *step, liana__error *error)
{
    if (!step->cluster || step->has_agreed) return LIANA_OK;
    const liana_step_options *options = &step->options;
    liana_graph *graph = NULL;
    liana__facts facts = {0};
    const char *name = liana__arena_format(&step->arena, "a shard of %s", options->name);
    const liana__graph_agreement own = {step->device, &step->variables->values, step->cluster, name};
    liana__facts_add_number(&facts, "batch_size", (double)options->batch_size);
    liana__facts_add_number(&facts, "microbatch", (double)options->microbatch);
    liana__facts_add_seed(&facts, options->seed);
    liana_status status = liana__step_build_leaf(step, options->microbatch, false, &graph, error);
    status = liana__cluster_agree_status(step->cluster, status, error);
    if (status == LIANA_OK) {
        status = liana__agree_on_graph(&own, graph, &facts, error);
    } else if (graph) {
        liana_graph_destroy(graph);
    }
    if (status == LIANA_OK) status = liana__facts_agree_shortly(&step->update_facts, step->cluster, error);
    if (status == LIANA_OK) liana__facts_free(&step->update_facts);
    liana__facts_free(&facts);
    step->has_agreed = status == LIANA_OK;
    return status;
}

static liana_status set_up(liana_step *step, const liana_step_options *options, liana__error *error)
{
    if (step->variables->values.device != step->device) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a step's variables are on another device");
    }
    LIANA_TRY(keep_options(step, options, error));
    const liana__precision_choice choice = liana__precision_choose(step->device, step->options.precision);
    step->mixed_precision =
        choice.precision == LIANA_MIXED_BFLOAT16 && !(step->options.evaluates && choice.evaluates_in_float32);
    LIANA_TRY(find_variables(step, error));
    const size_t num_leaves = (size_t)liana__cut_batch(step->options.batch_size, step->options.microbatch).count;
    step->leaves = calloc(num_leaves, sizeof *step->leaves);
    step->first_sum = calloc(step->sums.num_names + 1, sizeof *step->first_sum);
    step->positions = calloc((size_t)step->options.batch_size, sizeof *step->positions);
    if (!step->leaves || !step->first_sum || !step->positions) return liana__fail_memory(error, "a step");
    LIANA_TRY(make_strategy(step, error));
    return describe_update(step, error);
}

liana_status liana_step_create(liana_device *device, liana_variables *variables, const liana_step_options *options,
                               liana_step **out)
{
    if (out) *out = NULL;
    liana_context *context = device ? device->context : variables ? variables->context : NULL;
    liana__error *given = context ? &context->error : NULL;
    LIANA__REQUIRE(given, device);
    LIANA__REQUIRE(given, variables);
    LIANA__REQUIRE(given, options);
    LIANA__REQUIRE_AS(given, out, "step");
    liana_step *step = calloc(1, sizeof *step);
    if (!step) return liana__fail_memory(&context->error, "a step");
    step->context = context;
    step->device = device->device;
    step->variables = variables;
    liana_status status = LIANA_OK;
    if (options->replicas) status = liana__replicas_enter(options->replicas, "liana_step_create", &context->error);
    if (status == LIANA_OK) {
        status = set_up(step, options, &context->error);
        if (options->replicas) liana__replicas_leave(options->replicas);
    }
    if (status != LIANA_OK) {
        liana_step_destroy(step);
        return status;
    }
    *out = step;
    return LIANA_OK;
}

void liana_step_destroy(liana_step *step)
{
    if (!step) return;
    if (step->instance) step->strategy->functions->destroy(step->instance);
    liana__device_set_close(&step->devices);
    free(step->is_used);
    free(step->leaves);
    free(step->first_sum);
    free(step->positions);
    free(step->worker_ends);
    liana__facts_free(&step->update_facts);
    liana__arena_free(&step->arena);
    free(step);
}

int64_t liana_step_num_replicas_in_sync(const liana_step *step)
{
    return step ? (int64_t)step->strategy->functions->num_replicas_in_sync(step->instance) : 0;
}

/* ---- running ---- */

/* `array` is component `index`; *count is the batch's number of examples, 0: not known yet. */
static liana_status check_array(const liana_step *step, const liana_array *array, size_t index, int64_t *count,
                                liana__error *error)
{
    const liana_component *component = &step->options.components[index];
    bool fits = array->data && array->dtype == component->dtype && array->shape.rank == component->shape.rank + 1 &&
                array->shape.dims[0] >= 1 && array->shape.dims[0] <= step->options.batch_size;
    for (int k = 0; fits && k < component->shape.rank; k++) {
        fits = array->shape.dims[k + 1] == component->shape.dims[k];
    }
    if (fits && *count == 0) *count = array->shape.dims[0];
    if (fits && array->shape.dims[0] == *count) return LIANA_OK;
    liana_shape expected = {component->shape.rank + 1, {*count ? *count : step->options.batch_size}};
    for (int k = 0; k < component->shape.rank; k++) expected.dims[k + 1] = component->shape.dims[k];
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the array '%.100s' is %s%s, expected %s%s",
                       step->options.name, component->name, liana__array_show(array).text,
                       array->data ? "" : " at no address",
                       liana__type_print((liana_dtype)component->dtype, &expected).text,
                       *count ? ", as many examples as in the array before" : " or fewer examples");
}

static liana_status take_arrays(const liana_step *step, const liana_step_batch *batch, const void **rows,
                                int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS && batch->arrays[i].name; i++) {
        const char *nearest = NULL, *name = batch->arrays[i].name;
        size_t found = liana__step_component(step, name, &nearest);
        if (found == options->num_components) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: batches have no component '%.100s'%s", options->name,
                               name, liana__hint(nearest).text);
        }
        if (rows[found]) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the array '%.100s' is given twice", options->name,
                               name);
        }
        LIANA_TRY(check_array(step, &batch->arrays[i], found, count, error));
        rows[found] = batch->arrays[i].data;
    }
    for (size_t i = 0; i < options->num_components; i++) {
        if (rows[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the batch has no array '%.100s'", options->name,
                           options->components[i].name);
    }
    return LIANA_OK;
}

/* A component of an element as an array; without data if it has none of that name. */
static liana_array array_of(const liana_element *element, const char *name)
{
    liana_array array = {.name = name, .dtype = LIANA_STRING};
    for (size_t i = 0; i < liana_element_num_components(element); i++) {
        const liana_component *component = liana_element_component(element, i);
        if (strcmp(component->name, name) != 0) continue;
        array.dtype = component->dtype;
        array.shape = liana_element_shape(element, name);
        array.data = liana_element_data(element, name);
    }
    return array;
}

static liana_status take_element(const liana_step *step, const liana_element *element, const void **rows,
                                 int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < options->num_components; i++) {
        liana_array array = array_of(element, options->components[i].name);
        LIANA_TRY(check_array(step, &array, i, count, error));
        rows[i] = array.data;
    }
    return LIANA_OK;
}

/* The update's scalars, behind the number of examples. */
static liana_status take_scalars(const liana_step *step, const liana_step_batch *batch, float *scalars,
                                 liana__error *error)
{
    const liana_step_options *options = &step->options;
    bool given[LIANA_MAX_SETTINGS] = {0};
    for (size_t i = 0; i < LIANA_MAX_SETTINGS && batch->scalars[i].name; i++) {
        liana__nearest_search search = liana__nearest_begin(batch->scalars[i].name);
        size_t found = 0;
        while (found < step->num_scalars && strcmp(options->scalars[found], batch->scalars[i].name) != 0) {
            liana__nearest_add(&search, options->scalars[found++]);
        }
        if (found == step->num_scalars || given[found]) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the scalar '%.100s' %s%s", options->name,
                               batch->scalars[i].name,
                               found == step->num_scalars ? "is not one of the options" : "is given twice",
                               liana__hint(search.nearest).text);
        }
        given[found] = true;
        scalars[1 + found] = (float)batch->scalars[i].value;
    }
    for (size_t i = 0; i < step->num_scalars; i++) {
        if (given[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the batch has no scalar '%.100s'", options->name,
                           options->scalars[i]);
    }
    return LIANA_OK;
}

/* The set may have got more variables since; a step does not read them. */
static liana_status check_variables(const liana_step *step)
{
    const liana_variables *variables = step->variables;
    for (size_t i = 0; i < step->num_known; i++) {
        if (!step->is_used[i] || variables->states[i].initialized) continue;
        bool *wanted = calloc(variables->values.count + 1, sizeof *wanted);
        if (!wanted) return liana__fail_memory(&step->context->error, "a step");
        memcpy(wanted, step->is_used, step->num_known * sizeof *wanted);
        liana_status status = liana__variables_require(variables, step->options.name, wanted);
        free(wanted);
        return status;
    }
    return LIANA_OK;
}

static void set_results(const liana_step *step, int64_t count, liana_step_results *results)
{
    *results = (liana_step_results){.num_examples = count, .num_sums = step->sums.num_names};
    for (size_t i = 0; i < results->num_sums; i++) {
        results->sums[i] = (double)step->first_sum[i];
        results->names[i] = step->sums.names[i];
    }
}

/* ---- numbers that are not finite ---- */

static liana_status look(const liana_step *step, liana__checked what, liana__fault_kind kind, const char *advice,
                         liana__error *error)
{
    liana__non_finite found;
    char text[640];
    LIANA_TRY(step->strategy->functions->check(step->instance, what, &found, error));
    if (found.count == 0) return LIANA_OK;
    liana__fault fault = {.kind = kind, .count = found.count};
    const size_t sum = what == LIANA__CHECK_SUMS ? liana__step_find_sum((void *)step, found.name) : 0;
    snprintf(fault.name, sizeof fault.name, "%s", sum ? step->sums.items[sum - 1].variable : found.name);
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: %s; %s", step->options.name,
                       liana__fault_describe(&fault, text, sizeof text), advice);
}

/* What the update is about to read. */
static liana_status check_sums(const liana_step *step, const float *scalars, liana__error *error)
{
    static const char ADVICE[] = "no variable has changed";
    for (size_t i = 0; i < step->num_scalars; i++) {
        if (isfinite(scalars[1 + i])) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: the scalar '%.100s' is %g; %s", step->options.name,
                           step->options.scalars[i], (double)scalars[1 + i], ADVICE);
    }
    for (size_t i = 0; i < step->sums.num_names; i++) {
        if (isfinite(step->first_sum[i])) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: the sum '%.100s' is %g; %s", step->options.name,
                           step->sums.names[i], (double)step->first_sum[i], ADVICE);
    }
    return look(step, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, ADVICE, error);
}

static liana_status run_update(const liana_step *step, const float *scalars, liana__error *error)
{
    if (!step->options.update) return LIANA_OK;
    if (step->options.allows_non_finite) return step->strategy->functions->update(step->instance, scalars, error);
    LIANA_TRY(check_sums(step, scalars, error));
    LIANA_TRY(step->strategy->functions->update(step->instance, scalars, error));
    return look(step, LIANA__CHECK_VARIABLES, LIANA__FAULT_UPDATE, "the variables should be loaded again", error);
}

/* A batch that every process has. */
static liana_status take_whole(liana_step *step, const liana_step_batch *batch, liana__leaf_batch *leaves,
                               int64_t *count, liana__error *error)
{
    const void *rows[LIANA__MAX_COMPONENTS] = {0};
    LIANA_TRY(batch->element ? take_element(step, batch->element, rows, count, error)
                             : take_arrays(step, batch, rows, count, error));
    *leaves = cut_batch(step, *count);
    memcpy(leaves->rows, rows, sizeof rows);
    for (int64_t i = 0; i < *count; i++) step->positions[i] = step->next_position + (uint64_t)i;
    leaves->rows[step->options.num_components] = step->positions;
    return LIANA_OK;
}

static liana_status run_step(liana_step *step, const liana_step_batch *batch, liana_step_results *results)
{
    liana__error *error = &step->context->error;
    float scalars[1 + LIANA_MAX_SETTINGS] = {0};
    liana__leaf_batch leaves;
    int64_t count = 0;
    LIANA_TRY(batch->values ? liana__step_take_values(step, batch->values, &leaves, &count, error)
                            : take_whole(step, batch, &leaves, &count, error));
    LIANA_TRY(take_scalars(step, batch, scalars, error));
    LIANA_TRY(check_variables(step));
    LIANA_TRY(agree(step, error));
    scalars[0] = (float)count;
    liana_status status;
    do { /* Once more if a process of the cluster dies meanwhile. */
        liana__cluster_section_begin(step->cluster);
        status = step->strategy->functions->sum(step->instance, kind_of(step), &leaves, step->first_sum, error);
        if (status == LIANA_OK) status = run_update(step, scalars, error);
        if (status == LIANA_OK || status == LIANA_OUT_OF_RANGE) {
            status = liana__cluster_section_leave(step->cluster, status, error);
        }
    } while (liana__cluster_repeats(step->cluster, &status, error));
    if (results && (status == LIANA_OK || status == LIANA_OUT_OF_RANGE)) set_results(step, count, results);
    LIANA_TRY(status);
    step->next_position += (uint64_t)count;
    return LIANA_OK;
}

liana_status liana_step_run(liana_step *step, const liana_step_batch *batch, liana_step_results *results)
{
    if (results) *results = (liana_step_results){0};
    if (!step) return LIANA_INVALID_ARGUMENT;
    liana__error *error = &step->context->error;
    if (!batch) return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the batch is NULL", step->options.name);
    if ((batch->element != NULL) + (batch->arrays[0].name != NULL) + (batch->values != NULL) > 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the batch has more than one of values, element and arrays", step->options.name);
    }
    liana_replicas *replicas = step->options.replicas;
    if (replicas) LIANA_TRY(liana__replicas_enter(replicas, step->options.name, error));
    liana_status status = run_step(step, batch, results);
    if (replicas) liana__replicas_leave(replicas);
    return status;
}

uint64_t liana_step_position(const liana_step *step)
{
    return step ? step->next_position : 0;
}

void liana_step_set_position(liana_step *step, uint64_t position)
{
    if (step) step->next_position = position;
}

double liana_step_mean(const liana_step_results *results, const char *name)
{
    for (size_t i = 0; results && name && results->num_examples > 0 && i < results->num_sums; i++) {
        if (strcmp(results->names[i], name) == 0) return results->sums[i] / (double)results->num_examples;
    }
    return NAN;
}
