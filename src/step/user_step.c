/* Steps: setting one up. */
#include "step/user_step.h"

#include "backends/pjrt/platform.h"
#include "base/scoped.h"
#include "distribute/strategies/strategies.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "program/device.h"
#include "step/precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

/* The kind of the program's batches. */
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
    if (!options->shard) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the options have no shard function", options->name);
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
    if (options->steps_per_execution < 0 || options->steps_per_execution > LIANA__MAX_STEPS_PER_EXECUTION) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: steps_per_execution is %lld, expected 0 to %d",
                           options->name, (long long)options->steps_per_execution, LIANA__MAX_STEPS_PER_EXECUTION);
    }
    if ((unsigned)options->precision > LIANA_PRECISION_AUTO) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the precision %d is no liana_precision", options->name,
                           (int)options->precision);
    }
    for (size_t i = 0; i < options->num_components; i++) LIANA_TRY(check_component(step, i, error));
    return LIANA_OK;
}

/* The components of a dataset of batches, as those of an example. */
static liana_status take_dataset(liana_step *step, const liana_dataset *dataset, liana__error *error)
{
    liana_step_options *options = &step->options;
    const liana_dataset_facts facts = liana_dataset_info(dataset);
    liana_component *components = liana__arena_allocate(&step->arena, facts.num_components * sizeof *components);
    if (!components) return liana__fail_memory(error, "a step");
    if (options->batch_size == 0) options->batch_size = facts.batch_size;
    if (options->num_components) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the options have components and a dataset; give one of them", options->name);
    }
    if (facts.batch_size == 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the dataset's elements are no batches; use liana_dataset_batch", options->name);
    }
    for (size_t i = 0; i < facts.num_components; i++) {
        liana_component component = facts.components[i];
        if (component.dtype == LIANA_STRING || component.shape.rank == 0) continue;
        component.shape.rank--;
        for (int k = 0; k < component.shape.rank; k++) component.shape.dims[k] = component.shape.dims[k + 1];
        components[options->num_components++] = component;
    }
    options->components = components;
    options->dataset = NULL;
    return LIANA_OK;
}

/* The update of a step that is given an optimizer. */
static void apply_optimizer(liana_update *update, void *user)
{
    const liana_step *step = user;
    liana_optimizer_options options = {.optimizer = step->options.optimizer};
    for (size_t i = 0; i < step->num_scalars; i++) {
        if (strcmp(step->options.scalars[i], "learning_rate") != 0) continue;
        options.rate = liana_update_scalar(update, "learning_rate");
    }
    liana_apply_gradients(update->variables, update->gradients, update->num_variables, &options);
}

static liana_status take_optimizer(liana_step *step, liana__error *error)
{
    liana_step_options *options = &step->options;
    step->update_user = options->user;
    if (!options->optimizer) return LIANA_OK;
    if (options->update) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the options have an update function and an optimizer; give one of them", options->name);
    }
    options->optimizer = liana__arena_string(&step->arena, options->optimizer);
    options->update = apply_optimizer;
    step->update_user = step;
    return options->optimizer ? LIANA_OK : liana__fail_memory(error, "a step");
}

/* Copies the texts and lists of the options, and sets the defaults. */
static liana_status keep_options(liana_step *step, const liana_step_options *given, liana__error *error)
{
    liana_step_options *options = &step->options;
    *options = *given;
    options->name = liana__arena_string(&step->arena, given->name ? given->name : "step");
    if (!options->name) return liana__fail_memory(error, "a step");
    if (given->dataset) LIANA_TRY(take_dataset(step, given->dataset, error));
    LIANA_TRY(take_optimizer(step, error));
    LIANA_TRY(check_options(step, error));
    if (options->batch_size == 0) options->batch_size = 32;
    if (options->microbatch == 0) options->microbatch = 32;
    if (options->microbatch > options->batch_size) options->microbatch = options->batch_size;
    liana_component *components = liana__arena_allocate(&step->arena, options->num_components * sizeof *components);
    for (size_t i = 0; components && i < options->num_components; i++) {
        components[i] = options->components[i];
        components[i].name = liana__arena_string(&step->arena, components[i].name);
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

/* Once the sums are known. */
static void make_update_builder(liana_step *step)
{
    const liana_step_options *options = &step->options;
    step->update = (liana__user_update){.context = step->context,
                                        .function = options->update,
                                        .user = step->update_user,
                                        .name = options->name,
                                        .names = step->names,
                                        .num_names = step->num_names,
                                        .num_sums = step->num_names,
                                        .sums = &step->sums};
    liana__user_update_init(&step->update, options->scalars, step->num_scalars);
    step->update.builder.takes_non_finite = options->allows_non_finite;
}

static liana_status build_update(liana_step *step, liana_graph **graph, liana__error *error)
{
    return step->update.builder.functions.build(&step->update, LIANA__WHOLE_UPDATE, graph, error);
}

/* Builds both graphs once, to find the variables and the sums. */
static liana_status find_variables(liana_step *step, liana__error *error)
{
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *shard = NULL;
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *update = NULL;
    const liana_step_options *options = &step->options;
    const liana__shard_rows rows = {options->microbatch, 1, step->device->backend->static_leaves};
    LIANA_TRY(liana__user_build_shard(step, kind_of(step), &rows, &shard, error));
    LIANA_TRY(declare(step, shard, error));
    make_update_builder(step);
    if (options->update) LIANA_TRY(build_update(step, &update, error));
    if (update) LIANA_TRY(declare(step, update, error));
    step->num_known = step->variables->values.count;
    step->is_used = calloc(step->num_known + 1, sizeof *step->is_used);
    if (!step->is_used) return liana__fail_memory(error, "a step");
    mark(step, shard);
    for (size_t i = 0; i < step->num_known; i++) {
        if (step->is_used[i]) step->shards.num_leaf_variables = i + 1;
    }
    if (update) mark(step, update);
    return LIANA_OK;
}

/* The devices are those of open replicas. */
static liana_status take_replicas(liana_step *step, liana__strategy_choice *choice, liana__error *error)
{
    const liana_replicas *replicas = step->options.replicas;
    *choice = replicas->choice;
    step->strategy = choice->strategy;
    step->cluster = replicas->cluster;
    step->workers.bounds = calloc(replicas->num_processes + 1, sizeof *step->workers.bounds);
    return step->workers.bounds ? LIANA_OK : liana__fail_memory(error, step->options.name);
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

/* Where workers need not be in step, updates are run in spans. */
static void choose_spans(liana_step *step, const liana__strategy_choice *choice)
{
    const liana__notes notes = {step->options.on_note, step->options.user};
    liana__exchange_reason reason;
    step->strategy_options = choice->options;
    if (!step->options.update) return;
    step->span_steps = liana__span_steps_of(step->strategy, choice->options, step->cluster);
    if (!liana__note_exchange(step->strategy, choice->options, step->cluster, &notes, &reason)) return;
    step->not_reproducible = liana__arena_string(&step->arena, reason.text);
}

/* The devices are also of others, whose programs are not this step's business. */
static liana_status prepare(liana_step *step, const liana__device_set *set, liana__error *error)
{
    const bool by_default = step->options.precision == LIANA_FLOAT32_DEFAULT, trains = step->options.update != NULL;
    for (size_t i = 0; i < set->count; i++) liana__pjrt_set_products(set->items[i], by_default);
    const liana_status status = liana__step_prepare(step->step, step->options.batch_size, trains, error);
    for (size_t i = 0; i < set->count; i++) liana__pjrt_set_products(set->items[i], false);
    return status;
}

/* A sum with a name of a step that trains must be finite. */
static bool find_fault(void *user, const float *sums, liana__fault *fault)
{
    const liana_step *step = user;
    for (size_t i = 0; i < step->num_names; i++) {
        if (isfinite(sums[i])) continue;
        *fault = (liana__fault){.kind = LIANA__FAULT_SUM, .value = (double)sums[i], .count = 1};
        snprintf(fault->name, sizeof fault->name, "%s", step->names[i]);
        return true;
    }
    return false;
}

static void explain_fault(void *user, const liana__fault *fault, liana__error *error)
{
    const liana_step *step = user;
    char text[640];
    /* Of workers that are not in step others may have updated meanwhile. */
    const bool has_changed = fault->kind == LIANA__FAULT_UPDATE || step->span_steps;
    liana__fail(error, LIANA_OUT_OF_RANGE, "%s: %s; %s", step->options.name,
                liana__fault_describe(fault, text, sizeof text),
                has_changed ? "the variables should be loaded again" : "no variable has changed");
}

static void make_shard_builder(liana_step *step)
{
    const liana_step_options *options = &step->options;
    liana__shard_builder *shards = &step->shards;
    shards->name = options->name;
    shards->build = liana__user_build_shard;
    shards->builds[kind_of(step)] = true;
    shards->sums = &step->sums;
    shards->num_sums = step->num_names ? step->num_names : 1;
    shards->num_losses = step->num_names;
    shards->find_fault = find_fault;
    shards->explain_fault = explain_fault;
    shards->user = step;
    for (size_t i = 0; i <= options->num_components; i++) {
        const char *name = i < options->num_components ? options->components[i].name : "positions";
        liana__step_component *component = &shards->components[shards->num_components++];
        snprintf(component->name.text, sizeof component->name.text, "%s", name);
    }
}

static liana_status make_step(liana_step *step, liana__error *error)
{
    const liana_step_options *options = &step->options;
    const liana__device_set *set = options->replicas ? &options->replicas->devices : &step->devices;
    liana__strategy_choice choice;
    LIANA_TRY(options->replicas ? take_replicas(step, &choice, error) : open_devices(step, &choice, error));
    choose_spans(step, &choice);
    make_shard_builder(step);
    const liana__step_plan plan = {.shards = &step->shards,
                                   .update = options->update ? &step->update.builder : NULL,
                                   .batch_size = options->batch_size,
                                   .microbatch = options->microbatch,
                                   .steps_per_execution = options->steps_per_execution,
                                   .deterministic = options->deterministic,
                                   .strategy = step->strategy,
                                   .devices = {.items = set->items,
                                               .count = set->count,
                                               .groups = set->groups,
                                               .cluster = step->cluster,
                                               .options = choice.options}};
    LIANA_TRY(liana__step_create(&plan, &step->variables->values, &step->step, error));
    return prepare(step, set, error);
}

/* Keeps the facts of the update for the other processes: its function is called while the step is made, and not
 * later. */
static liana_status describe_update(liana_step *step, liana__error *error)
{
    liana_graph *graph = NULL;
    if (!step->cluster || !step->options.update) return LIANA_OK;
    const char *name = liana__arena_format(&step->arena, "the update of %s", step->options.name);
    if (!name) return liana__fail_memory(error, "a step");
    LIANA_TRY(build_update(step, &graph, error));
    liana__facts_add_graph(&step->update_facts, name, graph);
    liana__facts_add_ops(&step->update_facts, name, graph);
    liana_graph_destroy(graph);
    return LIANA_OK;
}

/* The variables, and the device that they are on. */
static liana_status find_variables_set(liana_step *step, liana__error *error)
{
    const liana_step_options *options = &step->options;
    liana_replicas *replicas = options->replicas;
    const char *other = options->variables ? "variables" : options->device ? "a device" : NULL;
    if (replicas && !other && options->strategy.name) other = "a strategy";
    if (other && (replicas || (options->variables && options->device))) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: it has %s besides its %s; leave one of them out",
                           options->name, other, replicas ? "replicas" : "device");
    }
    step->variables = replicas ? replicas->variables : options->variables;
    if (!step->variables) {
        LIANA_TRY(liana_device_open(step->context, options->device, &step->opened));
        LIANA_TRY(liana_variables_create(step->opened, &step->owned));
        step->variables = step->owned;
    }
    step->device = replicas ? replicas->first.device : step->variables->values.device;
    return LIANA_OK;
}

static liana_status set_up(liana_step *step, const liana_step_options *options, liana__error *error)
{
    LIANA_TRY(keep_options(step, options, error));
    LIANA_TRY(find_variables_set(step, error));
    const liana__precision_choice choice = liana__precision_choose(step->device, step->options.precision);
    step->mixed_precision =
        choice.precision == LIANA_MIXED_BFLOAT16 && !(step->options.evaluates && choice.evaluates_in_float32);
    LIANA_TRY(find_variables(step, error));
    step->positions = calloc((size_t)step->options.batch_size, sizeof *step->positions);
    if (!step->positions) return liana__fail_memory(error, "a step");
    LIANA_TRY(make_step(step, error));
    return describe_update(step, error);
}

static liana_status create(liana_context *context, const liana_step_options *options, liana_step **out)
{
    liana_step *step = calloc(1, sizeof *step);
    if (!step) return liana__fail_memory(&context->error, "a step");
    step->context = context;
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

liana_status liana_step_create(liana_context *context, const liana_step_options *options, liana_step **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "step");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, options);
    LIANA__CONTEXT_CALL(context, create(context, options, out));
}

void liana_step_destroy(liana_step *step)
{
    if (!step) return;
    liana__step_destroy(step->step);
    liana__user_update_free(&step->update);
    liana__device_set_close(&step->devices);
    free(step->is_used);
    free(step->positions);
    free(step->workers.bounds);
    liana__facts_free(&step->update_facts);
    liana_variables_destroy(step->owned);
    liana_device_close(step->opened);
    liana__arena_free(&step->arena);
    free(step);
}

liana_variables *liana_step_variables(liana_step *step)
{
    return step ? step->variables : NULL;
}

liana_step_facts liana_step_info(const liana_step *step)
{
    if (!step) return (liana_step_facts){0};
    return (liana_step_facts){step->next_position, (int64_t)liana__step_num_replicas_in_sync(step->step)};
}

void liana_step_set_position(liana_step *step, uint64_t position)
{
    if (step) step->next_position = position;
}

/* ---- before the first run ---- */

static liana_status initialize(const liana_step *step)
{
    const liana_initialize_options options = {.seed = step->options.seed};
    const liana_status status = liana_variables_initialize(step->owned, &options);
    return status == LIANA_OK ? status : liana__fail_within(&step->context->error, "%s", step->options.name);
}

/* The set may have got more variables since; a step does not read them. */
liana_status liana__user_check_variables(const liana_step *step)
{
    const liana_variables *variables = step->variables;
    for (size_t i = 0; i < step->num_known; i++) {
        if (!step->is_used[i] || variables->states[i].initialized) continue;
        if (step->owned) return initialize(step);
        LIANA__SCOPED_MEMORY bool *wanted = calloc(variables->values.count + 1, sizeof *wanted);
        if (!wanted) return liana__fail_memory(&step->context->error, "a step");
        memcpy(wanted, step->is_used, step->num_known * sizeof *wanted);
        return liana__variables_require(variables, step->options.name, wanted);
    }
    return LIANA_OK;
}

liana_status liana__user_agree(liana_step *step, liana__error *error)
{
    if (!step->cluster || step->has_agreed) return LIANA_OK;
    const liana_step_options *options = &step->options;
    liana_graph *graph = NULL;
    LIANA__SCOPED(liana__facts) facts = {0};
    const char *name = liana__arena_format(&step->arena, "a shard of %s", options->name);
    const liana__graph_agreement own = {step->device, &step->variables->values, step->cluster, name};
    liana__facts_add_number(&facts, "batch_size", (double)options->batch_size);
    liana__facts_add_number(&facts, "microbatch", (double)options->microbatch);
    liana__facts_add_seed(&facts, options->seed);
    const liana__shard_rows rows = {options->microbatch, 1, false};
    liana_status status = liana__user_build_shard(step, LIANA__STEP_TRAINING, &rows, &graph, error);
    status = liana__cluster_agree_status(step->cluster, status, error);
    if (status == LIANA_OK) {
        status = liana__agree_on_graph(&own, graph, &facts, error);
    } else if (graph) {
        liana_graph_destroy(graph);
    }
    if (status == LIANA_OK) status = liana__facts_agree_shortly(&step->update_facts, step->cluster, error);
    if (status == LIANA_OK) liana__facts_free(&step->update_facts);
    step->has_agreed = status == LIANA_OK;
    return status;
}
