/* Steps: setting one up. */
#include "train/step/step.h"

#include "backends/pjrt/platform.h"
#include "base/context.h"
#include "batch/cut.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "program/device.h"
#include "train/core/graph_facts.h"
#include "train/core/precision.h"
#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

liana__step_kind liana__step_kind_of(const liana_step *step)
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
    const bool by_default = step->options.precision == LIANA_FLOAT32_DEFAULT;
    for (size_t i = 0; i < set->count; i++) liana__pjrt_set_products(set->items[i], by_default);
    liana__leaf_batch batch = liana__step_cut(step, step->options.batch_size);
    const liana_status status =
        step->strategy->functions->prepare(step->instance, liana__step_kind_of(step), &batch, error);
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
    plan.leaves[liana__step_kind_of(step)] = &leaves;
    const liana__device_set *set = options->replicas ? &options->replicas->devices : &step->devices;
    liana__strategy_choice choice;
    LIANA_TRY(options->replicas ? take_replicas(step, &choice, error) : open_devices(step, &choice, error));
    choose_spans(step, &choice);
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
