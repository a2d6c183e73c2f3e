/* The graph of a step's shard: the declarations of its function, and its sums. */
#include "base/named.h"
#include "ir/device_scope.h"
#include "ir/given.h"
#include "ir/shape.h"
#include "layers/model.h"
#include "ops/autodiff.h"
#include "program/optimizer.h"
#include "step/shard_sums.h"
#include "step/user_step.h"

#include <liana/ops.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 16 };

/* A shard that is being built. */
typedef struct shard_state {
    liana_call_record record; /* first: on_call gets its address */
    liana_step *step;
    const liana_model *models[MOST_MODELS]; /* that were called with the shard's mode */
    size_t num_models;
    liana_variable_update *effects; /* of those calls */
    size_t num_effects, effect_capacity;
    liana_tensor inputs[LIANA_MAX_COMPONENTS];
    const char *names[LIANA_MAX_SUMS];
    size_t num_names;
    liana_tensor named[LIANA_MAX_SUMS]; /* by name: f32 scalars */
    liana__shard_sums sums;
} shard_state;

size_t liana__user_component(const liana_step *step, const char *name, const char **nearest)
{
    const liana_step_options *options = &step->options;
    return liana__named_find(LIANA__NAMED(liana_component, options->components, options->num_components), name,
                             nearest);
}

liana_tensor liana_shard_input_at(liana_location here, const liana_shard *shard, const char *name)
{
    if (!shard || !shard->graph) return (liana_tensor){0};
    const shard_state *state = shard->state;
    const char *nearest = NULL;
    size_t found = liana__user_component(state->step, name ? name : "", &nearest);
    if (found < state->step->options.num_components) return state->inputs[found];
    return liana__graph_fail(shard->graph, here, LIANA_NOT_FOUND, "%s: batches have no component '%.100s'%s",
                             state->step->options.name, name ? name : "", liana__hint(nearest).text);
}

static bool is_tensor_of(const liana_shard *shard, liana_tensor tensor)
{
    return tensor.graph == shard->graph && liana__tensor_node(tensor);
}

liana_tensor liana_shard_sum_at(liana_location here, liana_shard *shard, const char *name, liana_tensor each)
{
    liana_graph *graph = shard && shard->graph ? shard->graph : each.graph;
    liana_tensor none = {graph, 0};
    bool given = LIANA__GRAPH_REQUIRE(graph, here, shard) && LIANA__GRAPH_REQUIRE(graph, here, name);
    if (!given || !shard->graph) return none;
    shard_state *state = shard->state;
    if (shard->graph->status != LIANA_OK) return none;
    if (!*name) {
        return liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT, "a sum of a shard needs a name");
    }
    for (size_t i = 0; i < state->num_names; i++) {
        if (strcmp(state->names[i], name) != 0) continue;
        return liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT, "the shard has a sum '%.100s' already",
                                 name);
    }
    if (state->num_names == LIANA_MAX_SUMS) {
        return liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT, "a shard has more than %d sums with names",
                                 LIANA_MAX_SUMS);
    }
    const liana__node *node = is_tensor_of(shard, each) ? liana__tensor_node(each) : NULL;
    bool by_example = node && node->shape.rank > 0 && node->shape.dims[0] == shard->size;
    if (!by_example || !liana__dtype_is_float(node->dtype)) {
        return liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT,
                                 "the sum '%.100s' is of %s, expected floats [%lld, ...]: what each example of the "
                                 "shard gives",
                                 name, node ? liana__type_print(node->dtype, &node->shape).text : "no tensor",
                                 (long long)shard->size);
    }
    liana_tensor sum =
        liana_op_reduce_sum_at(here, liana__by_example(each, shard->mode.present), LIANA_ALL_AXES, false);
    state->names[state->num_names] = liana__arena_string(&shard->graph->arena, name);
    if (!state->names[state->num_names]) {
        return liana__graph_fail(shard->graph, here, LIANA_OUT_OF_MEMORY, "out of memory for a shard");
    }
    state->named[state->num_names++] =
        liana_tensor_dtype(sum) == LIANA_F32 ? sum : liana_op_cast_at(here, sum, LIANA_F32);
    return sum;
}

/* ---- sums for the update ---- */

static bool check_variables(liana_location here, const liana_shard *shard, liana_tensor loss,
                            const liana_tensor *variables, size_t count)
{
    bool right = is_tensor_of(shard, loss) && (variables || count == 0);
    for (size_t i = 0; right && i < count; i++) {
        const liana__node *node = is_tensor_of(shard, variables[i]) ? liana__tensor_node(variables[i]) : NULL;
        right = node && liana__is_variable(node) && liana__dtype_is_float(node->dtype);
    }
    if (right) return true;
    liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT,
                      "gradients of a shard are those of a sum of its graph with respect to variables of its graph; "
                      "found something else");
    return false;
}

/* Whether training changes a variable, as the models say that were called. */
static bool is_trained(const shard_state *state, const char *name)
{
    for (size_t i = 0; i < state->num_models; i++) {
        const int found = liana__model_find_weight(state->models[i], name);
        if (found >= 0) return liana__weight_trainable(state->models[i], (size_t)found);
    }
    return true;
}

/* All variables that a loss trains. NULL after an error. */
static const liana_tensor *find_trained(liana_location here, const liana_shard *shard, liana_tensor loss, size_t *count)
{
    liana_graph *graph = shard->graph;
    const liana__node *node = is_tensor_of(shard, loss) ? liana__tensor_node(loss) : NULL;
    bool *needed = liana__arena_allocate(&graph->arena, graph->num_nodes * sizeof *needed);
    liana_tensor *variables = liana__arena_allocate(&graph->arena, (graph->num_variables + 1) * sizeof *variables);
    if (!node || !needed || !variables) {
        liana__graph_fail(graph, here, node ? LIANA_OUT_OF_MEMORY : LIANA_INVALID_ARGUMENT,
                          node ? "out of memory for the gradients" : "the loss is no tensor of the shard's graph");
        return NULL;
    }
    const size_t found = liana__variables_behind(loss, needed, variables);
    *count = 0;
    for (size_t i = 0; i < found; i++) {
        if (is_trained(shard->state, liana__tensor_node(variables[i])->name)) variables[(*count)++] = variables[i];
    }
    if (*count) return variables;
    liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                      "there is nothing to train: %s depends on no f32 variable that is trained",
                      liana__node_print(node).text);
    return NULL;
}

void liana_shard_gradients_at(liana_location here, liana_shard *shard, liana_tensor loss, const liana_tensor *variables,
                              size_t count)
{
    liana_graph *graph = shard && shard->graph ? shard->graph : loss.graph;
    bool given =
        LIANA__GRAPH_REQUIRE(graph, here, shard) && (count == 0 || LIANA__GRAPH_REQUIRE(graph, here, variables));
    if (!given || !shard->graph || shard->graph->status != LIANA_OK) return;
    if (!variables) variables = find_trained(here, shard, loss, &count);
    if (!variables) return;
    if (!check_variables(here, shard, loss, variables, count)) return;
    if (!liana__require_gradient(here, loss, variables, count)) return;
    liana__shard_sums_add_gradients(here, &((shard_state *)shard->state)->sums, loss, variables, count);
}

/* Adds the statistics of the moving averages that the calls of models move. */
static void add_effects(liana_shard *shard)
{
    shard_state *state = shard->state;
    const liana_location here = LIANA_HERE;
    if (state->num_effects == 0 || shard->graph->status != LIANA_OK) return;
    for (size_t i = 0; i < state->num_effects; i++) {
        const liana_variable_update *update = &state->effects[i];
        if (is_tensor_of(shard, update->variable) && liana_tensor_dtype(update->variable) == LIANA_F32) continue;
        liana__graph_fail(shard->graph, here, LIANA_INVALID_ARGUMENT,
                          "the moving averages are not those of a call in f32 in the shard's graph");
        return;
    }
    liana_tensor count = liana__count_examples(here, shard->graph, shard->mode.present, shard->size);
    liana__shard_sums_add_statistics(here, &state->sums, count, state->effects, state->num_effects);
}

/* ---- the graph ---- */

static void on_call(liana_call_record *record, const liana_model *model, const liana_call_effects *effects,
                    liana_tensor penalties)
{
    shard_state *state = (shard_state *)record;
    size_t known = 0;
    const liana__layer *stateful = liana__model_stateful_layer(model);
    (void)penalties;
    if (stateful) {
        liana__graph_fail(state->sums.graph, LIANA_HERE, LIANA_INVALID_ARGUMENT,
                          "layer '%s' (%s): stateful: shards keep no states from batch to batch; train the model with "
                          "liana_fit, or with a program that assigns the effects of its calls, or leave stateful out",
                          stateful->name, stateful->type->part.name);
        return;
    }
    while (known < state->num_models && state->models[known] != model) known++;
    if (known == MOST_MODELS) {
        liana__graph_fail(state->sums.graph, LIANA_HERE, LIANA_INVALID_ARGUMENT, "a shard calls more than %d models",
                          MOST_MODELS);
        return;
    }
    state->models[known] = model;
    if (known == state->num_models) state->num_models++;
    for (size_t i = 0; i < effects->num_updates; i++) {
        if (!liana__grow(&state->effects, state->num_effects, &state->effect_capacity, sizeof *state->effects)) {
            liana__graph_fail(state->sums.graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for a shard");
            return;
        }
        state->effects[state->num_effects++] = effects->updates[i];
    }
}

static void add_inputs(liana_shard *shard, bool masked)
{
    shard_state *state = shard->state;
    const liana_step_options *options = &state->step->options;
    for (size_t i = 0; i < options->num_components; i++) {
        const liana_component *component = &options->components[i];
        liana_shape shape = {component->shape.rank + 1, {shard->size}};
        for (int k = 1; k < shape.rank; k++) shape.dims[k] = component->shape.dims[k - 1];
        state->inputs[i] = liana_graph_input(shard->graph, component->name, (liana_dtype)component->dtype, shape);
    }
    shard->mode = (liana_call_mode){
        .training = !options->evaluates,
        .positions = liana_graph_input(shard->graph, "positions", LIANA_U64, liana_shape_of(shard->size)),
        .seed = options->seed,
        .record = &state->record,
    };
    if (masked)
        shard->mode.present = liana_graph_input(shard->graph, "present", LIANA_F32, liana_shape_of(shard->size));
}

static void add_outputs(const liana_shard *shard)
{
    const shard_state *state = shard->state;
    liana_tensor parts[LIANA_MAX_SUMS] = {liana_graph_scalar(shard->graph, LIANA_F32, 0)};
    size_t count = state->num_names;
    for (size_t i = 0; i < count; i++) parts[i] = state->named[i];
    if (count == 0) count = 1;
    for (size_t i = 0; i < count; i++) parts[i] = liana_op_reshape(parts[i], liana_shape_of(1));
    liana__shard_sums_finish(&state->sums, liana_op_concat(parts, count, 0));
}

/* Keeps the declarations of the first shard, and holds later ones to them. */
static liana_status keep_sums(liana_step *step, const shard_state *state, int64_t size, liana__error *error)
{
    bool same = !step->declared || step->num_names == state->num_names;
    for (size_t i = 0; step->declared && same && i < step->num_names; i++) {
        same = strcmp(step->names[i], state->names[i]) == 0;
    }
    if (!same || !liana__shard_sums_keep(&state->sums, &step->arena, &step->sums)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: a shard of %lld examples declares other sums, gradients or averages than the first "
                           "shard; they must not depend on the size",
                           step->options.name, (long long)size);
    }
    for (size_t i = 0; !step->declared && i < state->num_names; i++) {
        step->names[i] = liana__arena_string(&step->arena, state->names[i]);
    }
    step->num_names = state->num_names;
    step->declared = !step->arena.failed;
    return step->declared ? LIANA_OK : liana__fail_memory(error, "a step");
}

/* The status of a graph that a program's function has built. */
static liana_status status_of(const liana_step *step, const liana_graph *graph, size_t num_inputs, liana__error *error)
{
    if (graph->status != LIANA_OK) {
        if (error && error != &step->context->error) *error = step->context->error;
        return liana__fail_within(error, "%s: the shard", step->options.name);
    }
    if (graph->num_inputs == num_inputs) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the shard has an input '%s' of its own, which batches do not have; use liana_shard_input",
                       step->options.name, graph->inputs[num_inputs]->name);
}

liana_status liana__user_build_shard(void *user, liana__step_kind kind, const liana__shard_rows *rows,
                                     liana_graph **out, liana__error *error)
{
    liana_step *step = user;
    liana_graph *graph;
    (void)kind;
    *out = NULL;
    LIANA_TRY(liana_graph_create(step->context, &graph));
    liana__scopes_forbid(graph, LIANA__SCOPES_OF_STRATEGY);
    shard_state state = {.record = {on_call}, .step = step, .sums.graph = graph};
    liana_shard shard = {.graph = graph, .size = rows->size, .state = &state};
    graph->mixed_precision = step->mixed_precision;
    add_inputs(&shard, rows->masked);
    size_t num_inputs = graph->num_inputs;
    step->options.shard(&shard, step->options.user);
    if (step->options.update) add_effects(&shard);
    if (graph->status == LIANA_OK) add_outputs(&shard);
    liana_status status = status_of(step, graph, num_inputs, error);
    if (status == LIANA_OK) status = keep_sums(step, &state, rows->size, error);
    liana__shard_sums_free(&state.sums);
    free(state.effects);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    *out = graph;
    return LIANA_OK;
}
