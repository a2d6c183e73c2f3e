/* A model function as a shard builder: its objective, the inputs of its shards, and their graphs. */
#include "train/estimator/function_model.h"

#include "ir/device_scope.h"
#include "ops/autodiff.h"
#include "train/estimator/model_fn_internal.h"
#include "train/objective/step_graphs.h"

#include <string.h>

/* ---- all modes ---- */

static const liana__fn_built *main_mode(const liana__function_model *own)
{
    return own->modes.train ? own->modes.train : own->modes.evaluate;
}

static liana_status fail(const liana__function_model *own, liana__error *error, const char *what, const char *name,
                         const char *here, const char *there)
{
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the model function gives %s '%s' %s but not %s; give the same in both", own->fn->name, what,
                       name, here, there);
}

static const liana__fn_metric *find_metric(const liana__fn_built *built, const char *name)
{
    for (size_t i = 0; i < built->num_metrics; i++) {
        if (strcmp(built->metrics[i].name, name) == 0) return &built->metrics[i];
    }
    return NULL;
}

static liana_status check_metrics(const liana__function_model *own, liana__error *error)
{
    static const char training[] = "when training", evaluating[] = "when evaluating";
    const liana__fn_built *train = own->modes.train, *other = own->modes.evaluate;
    for (size_t i = 0; i < train->num_metrics; i++) {
        const liana__fn_metric *found = find_metric(other, train->metrics[i].name);
        if (!found) return fail(own, error, "the metric", train->metrics[i].name, training, evaluating);
        bool same = found == &other->metrics[i] && found->choice.metric == train->metrics[i].choice.metric &&
                    found->num_sums == train->metrics[i].num_sums;
        if (same) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the metric '%s' is another one, or stands at another place, when evaluating than when "
                           "training; give the same in both",
                           own->fn->name, found->name);
    }
    for (size_t i = 0; i < other->num_metrics; i++) {
        if (find_metric(train, other->metrics[i].name)) continue;
        return fail(own, error, "the metric", other->metrics[i].name, evaluating, training);
    }
    if (train->is_masked != other->is_masked) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the model function gives a .loss_mask only when %s; give it in both", own->fn->name,
                           train->is_masked ? "training" : "evaluating");
    }
    if (train->is_regularized != other->is_regularized) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the model function calls models with regularizers only when %s; call the same in both",
                           own->fn->name, train->is_regularized ? "training" : "evaluating");
    }
    if (train->elements == other->elements) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the loss has %lld elements for an example when training, but %lld when evaluating",
                       own->fn->name, (long long)train->elements, (long long)other->elements);
}

static liana_status find_objective(liana__function_model *own, liana__error *error)
{
    const liana__fn_built *built = main_mode(own);
    liana__objective *objective = &own->objective;
    if (own->modes.train && own->modes.evaluate) LIANA_TRY(check_metrics(own, error));
    const int64_t values = own->modes.evaluate ? own->modes.evaluate->row_size : 1;
    objective->num_outputs = 1;
    objective->outputs[0] = (liana__objective_output){.name = "loss",
                                                      .weight = 1,
                                                      .shape = liana_shape_of(1, values),
                                                      .target = LIANA_TARGET_VALUES,
                                                      .target_dtype = LIANA_F32,
                                                      .target_shape = liana_shape_of(1, 1),
                                                      .elements = built->elements};
    objective->value_names[objective->num_values++] = "loss";
    objective->num_sums = 1;
    objective->num_metrics = built->num_metrics;
    for (size_t i = 0; i < built->num_metrics; i++) {
        const liana__fn_metric *metric = &built->metrics[i];
        objective->metrics[i] = (liana__objective_metric){.choice = metric->choice,
                                                          .name = metric->name,
                                                          .first_sum = objective->num_sums,
                                                          .num_sums = metric->num_sums,
                                                          .num_values = metric->num_values};
        objective->num_sums += metric->num_sums;
        if (!metric->choice.metric->is_matrix) objective->num_listed += metric->num_values;
        if (!metric->num_values) objective->value_names[objective->num_values++] = metric->name;
    }
    objective->is_regularized = built->is_regularized && built->kind != LIANA_MODE_PREDICT;
    if (objective->is_regularized) objective->penalty_sum = objective->num_sums++;
    if (!built->is_masked) return LIANA_OK;
    objective->outputs[0].masked = objective->outputs[0].counted = true;
    objective->outputs[0].count_sum = objective->num_sums++;
    objective->num_counted = 1;
    return LIANA_OK;
}

/* ---- variables ---- */

static bool has_variable(const liana__function_model *own, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(own->variables[i].name, name) == 0) return true;
    }
    return false;
}

/* Those of training, then those that only evaluation has. */
static liana_status join_variables(liana__function_model *own, size_t *count, liana__error *error)
{
    const liana__fn_built *modes[2] = {own->modes.train, own->modes.evaluate};
    size_t most = 1;
    for (int k = 0; k < 2; k++) most += modes[k] ? modes[k]->num_variables : 0;
    own->variables = liana__arena_allocate(own->arena, most * sizeof *own->variables);
    if (!own->variables) return liana__fail_memory(error, "the variables");
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; modes[k] && i < modes[k]->num_variables; i++) {
            if (has_variable(own, *count, modes[k]->variables[i].name)) continue;
            own->variables[(*count)++] = modes[k]->variables[i];
        }
    }
    return LIANA_OK;
}

/* The owner of a variable: "dense" of "dense/kernel". Moving averages of one owner are updated together. */
static const char *owner_of(const liana__fn_variable *variable, liana__arena *arena)
{
    if (variable->model) {
        return variable->model->layers[variable->model->weights[variable->weight].layer].name;
    }
    const char *slash = strrchr(variable->name, '/');
    return slash ? liana__arena_format(arena, "%.*s", (int)(slash - variable->name), variable->name) : variable->name;
}

/* ---- inputs of shards ---- */

static liana_status add_input(liana__function_model *own, size_t component, int64_t num_ids, liana__error *error)
{
    const liana__fn_component *data = &own->data->items[component];
    own->components[own->function.num_inputs] = component;
    own->arrivals[own->function.num_inputs] = (liana__trainer_input){data->dtype, data->is_image};
    own->inputs[own->function.num_inputs++] =
        (liana__model_port){.name = liana__arena_string(own->arena, data->data.name),
                            .dtype = data->is_image ? LIANA_F32 : data->dtype,
                            .shape = data->shape,
                            .num_ids = num_ids};
    return own->arena->failed ? liana__fail_memory(error, "a model function") : LIANA_OK;
}

static liana_status find_inputs(liana__function_model *own, liana__error *error)
{
    const liana__fn_built *train = own->modes.train, *other = own->modes.evaluate;
    for (size_t i = 0; i < own->data->count; i++) {
        bool used = (train && train->used[i]) || (other && other->used[i]);
        int64_t ids = train ? train->num_ids[i] : 0, others = other ? other->num_ids[i] : 0;
        if (!ids || (others && others < ids)) ids = others;
        if (used) LIANA_TRY(add_input(own, i, ids, error));
    }
    if (own->function.num_inputs) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the model function asks for no feature of the data",
                       own->fn->name);
}

/* The first of the variables that have its owner. */
static size_t find_owner(const liana__function_model *own, size_t count, const char *owner)
{
    size_t found = 0;
    while (found < count && strcmp(own->weights[found].owner_name, owner) != 0) found++;
    return found;
}

static liana_status add_weight(liana__function_model *own, size_t index, liana__error *error)
{
    const liana__fn_variable *variable = &own->variables[index];
    const liana_model *model = main_mode(own)->kind == LIANA_MODE_PREDICT ? NULL : variable->model;
    const char *owner = owner_of(variable, own->arena);
    if (!owner) return liana__fail_memory(error, "a model function");
    liana__updated_variable *weight = &own->weights[index];
    /* An evaluation has penalties too: the loss is the same. */
    const bool by_model = model && !own->modes.train;
    *weight = (liana__updated_variable){.name = variable->name,
                                        .shape = variable->shape,
                                        .is_average = by_model ? !liana__weight_trainable(model, variable->weight)
                                                               : !variable->trained,
                                        .about = LIANA__NO_VARIABLE,
                                        .owner = find_owner(own, index, owner),
                                        .owner_name = owner};
    if (!model) return LIANA_OK;
    const liana__weight *rules = &model->weights[variable->weight];
    weight->constraint = &rules->constraint;
    if (rules->regularizer.type && !weight->is_average) weight->regularizer = &rules->regularizer;
    weight->whole = (weight->regularizer && !weight->regularizer->type->is_by_element) ||
                    (rules->constraint.type && !rules->constraint.type->is_by_element);
    return LIANA_OK;
}

static liana_status find_weights(liana__function_model *own, liana__error *error)
{
    size_t count = 0;
    bool learns = false;
    LIANA_TRY(join_variables(own, &count, error));
    own->weights = liana__arena_allocate(own->arena, (count + 1) * sizeof *own->weights);
    if (!own->weights) return liana__fail_memory(error, "the variables");
    for (size_t i = 0; i < count; i++) {
        LIANA_TRY(add_weight(own, i, error));
        learns |= own->variables[i].trained;
    }
    own->function.weights = own->weights;
    own->function.num_weights = count;
    if (learns || !own->modes.train) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the loss depends on no variable that could be trained; make one with liana_graph_variable, "
                       "or call a model with the mode that the model function is given",
                       own->fn->name);
}

/* ---- shards ---- */

static bool same_results(const liana__fn_built *first, const liana__fn_built *built)
{
    bool same = first->num_sums == built->num_sums && first->num_metrics == built->num_metrics &&
                first->num_predictions == built->num_predictions && first->row_size == built->row_size &&
                first->elements == built->elements && first->num_variables == built->num_variables;
    for (size_t i = 0; same && i < first->num_variables; i++) {
        same = strcmp(first->variables[i].name, built->variables[i].name) == 0;
    }
    return same;
}

/* Calls the model function for a shard, whose inputs are there. */
static void call_function(const liana__function_model *own, liana__fn_call *call)
{
    const liana__fn_built *first = call->kind == LIANA_MODE_TRAIN ? own->modes.train : own->modes.evaluate;
    call->fn = own->fn;
    call->data = own->data;
    call->given = true;
    call->arena = &call->graph->arena;
    if (liana_graph_status(call->graph) != LIANA_OK || liana__fn_run(call, NULL) != LIANA_OK) return;
    if (same_results(first, &call->built)) return;
    liana__fn_fail(call, (liana_tensor){0},
                   "the model function gives other sums, predictions or variables for %lld examples than before; they "
                   "must not depend on the size",
                   (long long)call->size);
}

/* Gradients of the trained variables, in their order. */
static void add_gradients(const liana__function_model *own, const liana__fn_call *call, liana__shard_sums *sums)
{
    liana_graph *graph = call->graph;
    liana_tensor *wrt = liana__arena_allocate(&graph->arena, (own->function.num_weights + 1) * sizeof *wrt);
    size_t count = 0;
    if (!wrt) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for a model function");
        return;
    }
    for (size_t i = 0; i < own->function.num_weights; i++) {
        const int found = liana__graph_find_variable(graph, own->weights[i].name);
        if (found < 0 || own->weights[i].is_average) continue;
        wrt[count++] = liana__node_tensor(graph, graph->variables[found]);
    }
    if (!liana__require_gradient(LIANA_HERE, call->loss, wrt, count)) return;
    liana__shard_sums_add_gradients(LIANA_HERE, sums, call->loss, wrt, count);
}

static void finish_training(liana__function_model *own, const liana__fn_call *call, liana__shard_sums *sums)
{
    const liana_tensor examples = liana__count_examples(LIANA_HERE, call->graph, call->present, call->size);
    liana__shard_sums_add_statistics(LIANA_HERE, sums, examples, call->updates, call->num_updates);
    add_gradients(own, call, sums);
    if (liana_graph_status(call->graph) != LIANA_OK) return;
    liana__shard_sums_finish(sums, call->sums);
    if (liana__shard_sums_keep(sums, own->arena, &own->sums) && !own->arena->failed) return;
    liana__graph_fail(call->graph, LIANA_HERE, LIANA_INVALID_ARGUMENT,
                      "%s: the model function gives other gradients or averages for %lld examples than before",
                      own->fn->name, (long long)call->size);
}

static void build_inputs(const liana__function_model *own, const liana__trainer_options *options, liana__step_kind kind,
                         const liana__shard_rows *rows, liana__fn_call *call)
{
    liana_graph *graph = call->graph;
    const liana_shape column = liana_shape_of(call->size);
    for (size_t i = 0; i < own->function.num_inputs; i++) {
        call->inputs[own->components[i]] = liana__build_input(options, graph, &own->inputs[i], i, call->size);
    }
    const bool counts = kind == LIANA__STEP_COUNTING;
    if (counts && rows->masked) call->present = liana_graph_input(graph, "present", LIANA_F32, column);
    call->positions = liana_graph_input(graph, "positions", LIANA_U64, column);
    if (counts) return;
    if (kind == LIANA__STEP_TRAINING && own->objective.num_counted) {
        call->scales = liana_graph_input(graph, LIANA__SCALES, LIANA_F32, liana_shape_of(call->size, 1));
    }
    if (rows->masked) call->present = liana_graph_input(graph, "present", LIANA_F32, column);
}

static liana_status build_shards(void *user, const liana__trainer_options *options, liana__step_kind kind,
                                 const liana__shard_rows *rows, liana_graph **out, liana__error *error)
{
    liana__function_model *own = user;
    liana_context *context = own->function.context;
    const bool evaluates = kind == LIANA__STEP_EVALUATION;
    liana_graph *graph;
    *out = NULL;
    LIANA_TRY(liana_graph_create(context, &graph));
    liana__fn_call call = {.graph = graph,
                           .kind = evaluates ? own->modes.evaluate->kind : LIANA_MODE_TRAIN,
                           .size = rows->size * rows->shards};
    liana__shard_sums sums = {.graph = graph};
    if (kind != LIANA__STEP_COUNTING) {
        liana__scopes_forbid(graph, LIANA__SCOPES_OF_STRATEGY);
        graph->mixed_precision = options->mixed_precision && !(evaluates && options->evaluates_in_float32);
    }
    build_inputs(own, options, kind, rows, &call);
    call_function(own, &call);
    const bool is_good = liana_graph_status(graph) == LIANA_OK;
    if (is_good && kind == LIANA__STEP_COUNTING) liana_graph_output(graph, "counts", call.counts);
    if (is_good && kind == LIANA__STEP_TRAINING) finish_training(own, &call, &sums);
    if (is_good && evaluates) liana_graph_output(graph, "sums", call.sums);
    if (is_good && evaluates && call.rows.id) liana_graph_output(graph, "output", call.rows);
    liana__shard_sums_free(&sums);
    const liana_status status = liana_graph_status(graph);
    if (status == LIANA_OK) {
        *out = graph;
        return LIANA_OK;
    }
    liana_graph_destroy(graph);
    if (error && error != &context->error) *error = context->error;
    return status;
}

/* ---- the whole ---- */

liana_status liana__function_model_make(liana_context *context, const liana__fn *fn, const liana__fn_data *data,
                                        const liana__fn_modes *modes, liana__arena *arena, liana__function_model *made,
                                        liana__error *error)
{
    *made = (liana__function_model){.fn = fn, .data = data, .arena = arena, .modes = *modes};
    made->function =
        (liana__trained_function){.context = context,
                                  .name = fn->name,
                                  .build = build_shards,
                                  .sums = &made->sums,
                                  .inputs = made->inputs,
                                  .gives_rows = modes->evaluate && modes->evaluate->kind == LIANA_MODE_PREDICT,
                                  .user = made};
    LIANA_TRY(find_objective(made, error));
    LIANA_TRY(find_inputs(made, error));
    return find_weights(made, error);
}
