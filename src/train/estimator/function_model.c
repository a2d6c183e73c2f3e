/* Makes a model and an objective of what a model function gives. */
#include "train/estimator/function_model.h"

#include "ir/graph.h"
#include "train/estimator/model_fn_internal.h"

#include <string.h>

/* ---- what the modes have in common ---- */

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
    objective->outputs[0].masked = true;
    objective->outputs[0].count_sum = objective->num_sums++;
    objective->num_masked = 1;
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

/* What a variable belongs to: "dense" of "dense/kernel". Moving averages of one owner are updated together. */
static const char *owner_of(const liana__fn_variable *variable, liana__arena *arena)
{
    if (variable->model) {
        return variable->model->layers[variable->model->weights[variable->weight].layer].name;
    }
    const char *slash = strrchr(variable->name, '/');
    return slash ? liana__arena_format(arena, "%.*s", (int)(slash - variable->name), variable->name) : variable->name;
}

/* ---- the model ---- */

/* Whole numbers that are looked up, as the user of an input. */
typedef struct id_options {
    int64_t count;
} id_options;

static int64_t count_ids(const void *options)
{
    return ((const id_options *)options)->count;
}

static const liana_layer_type ids_type = {LIANA_PART(LAYER, liana_layer_type, "Ids", "What is looked up."),
                                          .max_inputs = 1, .num_ids = count_ids};
static const liana_layer_type variables_type = {
    LIANA_PART(LAYER, liana_layer_type, "Variables", "Variables of a model function.")};

static liana_status add_layer(liana_model *model, const liana_layer_type *type, const char *name, void *options,
                              size_t *index, liana__error *error)
{
    if (!name || !liana__grow(&model->layers, model->num_layers, &model->layer_capacity, sizeof *model->layers)) {
        return liana__fail_memory(error, "a model function");
    }
    *index = model->num_layers++;
    model->layers[*index] = (liana__layer){
        .type = type, .name = name, .options = options, .trainable = true, .within = LIANA__NONE, .where = LIANA_HERE};
    return LIANA_OK;
}

static liana_status add_node(liana_model *model, liana__layer_node node, liana__error *error)
{
    if (!liana__grow(&model->nodes, model->num_nodes, &model->node_capacity, sizeof *model->nodes)) {
        return liana__fail_memory(error, "a model function");
    }
    node.within = LIANA__NONE;
    model->nodes[model->num_nodes++] = node;
    return LIANA_OK;
}

static liana_status add_port(liana__function_model *own, size_t component, int64_t num_ids, liana__error *error)
{
    liana_model *model = own->model;
    const liana__fn_component *data = &own->data->items[component];
    liana_dtype dtype = data->is_image ? LIANA_F32 : data->dtype;
    size_t layer = 0, node = model->num_nodes;
    LIANA_TRY(add_layer(model, &liana__layer_input_layer, liana__arena_string(&model->arena, data->data.name), NULL,
                        &layer, error));
    LIANA_TRY(add_node(model, (liana__layer_node){.layer = layer, .shape = data->shape, .dtype = dtype}, error));
    own->ports[model->num_inputs] = component;
    model->inputs[model->num_inputs++] = node;
    if (!num_ids) return LIANA_OK;
    id_options *options = liana__arena_allocate(&model->arena, sizeof *options);
    size_t *inputs = liana__arena_allocate(&model->arena, sizeof *inputs);
    if (!options || !inputs) return liana__fail_memory(error, "a model function");
    options->count = num_ids;
    *inputs = node;
    LIANA_TRY(add_layer(model, &ids_type, "ids", options, &layer, error));
    return add_node(model, (liana__layer_node){.layer = layer, .inputs = inputs, .num_inputs = 1, .shape = data->shape},
                    error);
}

static liana_status add_ports(liana__function_model *own, liana__error *error)
{
    const liana__fn_built *train = own->modes.train, *other = own->modes.evaluate;
    for (size_t i = 0; i < own->data->count; i++) {
        bool used = (train && train->used[i]) || (other && other->used[i]);
        int64_t ids = train ? train->num_ids[i] : 0, others = other ? other->num_ids[i] : 0;
        if (!ids || (others && others < ids)) ids = others;
        if (used) LIANA_TRY(add_port(own, i, ids, error));
    }
    if (own->model->num_inputs) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the model function asks for no feature of the data",
                       own->fn->name);
}

/* What a model says of its weight. What is only evaluated has penalties too: the loss is the same. */
static void add_rules(const liana__function_model *own, const liana__fn_variable *variable, liana__weight *weight)
{
    const liana_model *model = variable->model;
    if (!model || main_mode(own)->kind == LIANA_MODE_PREDICT) return;
    weight->regularizer = model->weights[variable->weight].regularizer;
    weight->constraint = model->weights[variable->weight].constraint;
    if (!own->modes.train) weight->trainable = liana__weight_trainable(model, variable->weight);
}

static liana_status add_weight(liana__function_model *own, const liana__fn_variable *variable, liana__error *error)
{
    liana_model *model = own->model;
    const char *owner = owner_of(variable, &model->arena);
    int found = owner ? liana__model_find_layer(model, owner) : -1;
    size_t layer = (size_t)found;
    if (found < 0 || model->layers[layer].type != &variables_type) {
        LIANA_TRY(add_layer(model, &variables_type, owner, NULL, &layer, error));
    }
    if (!liana__grow(&model->weights, model->num_weights, &model->weight_capacity, sizeof *model->weights)) {
        return liana__fail_memory(error, "a model function");
    }
    liana__weight *weight = &model->weights[model->num_weights++];
    *weight = (liana__weight){.name = variable->name,
                              .short_name = variable->name,
                              .shape = variable->shape,
                              .layer = layer,
                              .trainable = variable->trained};
    add_rules(own, variable, weight);
    return liana__initializer_parse(NULL, "zeros", &weight->initializer, error);
}

static liana_status make_model(liana__function_model *own, liana_context *context, liana__error *error)
{
    size_t count = 0;
    bool learns = false;
    LIANA_TRY(join_variables(own, &count, error));
    LIANA_TRY(liana_model_create(context, own->fn->name, &own->model));
    LIANA_TRY(add_ports(own, error));
    for (size_t i = 0; i < count; i++) {
        LIANA_TRY(add_weight(own, &own->variables[i], error));
        learns |= own->variables[i].trained;
    }
    if (learns || !own->modes.train) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the loss depends on no variable that could be trained; make one with liana_graph_variable, "
                       "or call a model with the mode that the model function is given",
                       own->fn->name);
}

/* ---- leaves ---- */

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

static bool take_updates(const liana__function_model *own, const liana__fn_call *made, liana__function_call *call)
{
    call->updates = liana__arena_allocate(&call->graph->arena, (made->num_updates + 1) * sizeof *call->updates);
    if (!call->updates) return false;
    for (size_t i = 0; i < made->num_updates; i++) {
        const liana_variable_update *update = &made->updates[i];
        const char *about = liana_tensor_name(update->about);
        call->updates[i] =
            (liana__model_update){.weight =
                                      (size_t)liana__model_find_weight(own->model, liana_tensor_name(update->variable)),
                                  .statistic = update->statistic,
                                  .momentum = update->momentum,
                                  .about =
                                      about ? (size_t)liana__model_find_weight(own->model, about) : LIANA__NO_WEIGHT};
    }
    call->num_updates = made->num_updates;
    return true;
}

static bool take_weights(const liana__function_model *own, liana__function_call *call)
{
    const size_t count = own->model->num_weights;
    call->weights = liana__arena_allocate(&call->graph->arena, (count + 1) * sizeof *call->weights);
    for (size_t i = 0; call->weights && i < count; i++) {
        int found = liana__graph_find_variable(call->graph, own->model->weights[i].name);
        if (found >= 0) call->weights[i] = liana__node_tensor(call->graph, call->graph->variables[found]);
    }
    return call->weights != NULL;
}

static void build_leaf(void *user, liana__function_call *call)
{
    const liana__function_model *own = user;
    const liana__fn_built *first = call->training ? own->modes.train : own->modes.evaluate;
    liana__fn_call made = {.fn = own->fn,
                           .kind = first->kind,
                           .data = own->data,
                           .graph = call->graph,
                           .size = call->size,
                           .positions = call->positions,
                           .present = call->present,
                           .given = true,
                           .scales = call->scales,
                           .arena = &call->graph->arena};
    for (size_t i = 0; i < own->model->num_inputs; i++) made.inputs[own->ports[i]] = call->inputs[i];
    if (liana__fn_run(&made, NULL) != LIANA_OK) return;
    if (!same_results(first, &made.built)) {
        liana__fn_fail(&made, (liana_tensor){0},
                       "the model function gives other sums, predictions or variables for %lld examples than before; "
                       "they must not depend on the size",
                       (long long)call->size);
        return;
    }
    call->counts = made.counts;
    if (call->counting) return;
    call->loss = made.loss;
    call->sums = made.sums;
    call->rows = made.rows;
    if (!take_updates(own, &made, call) || !take_weights(own, call)) {
        liana__graph_fail(call->graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for a model function");
    }
}

/* ---- the whole ---- */

liana_status liana__function_model_make(liana_context *context, const liana__fn *fn, const liana__fn_data *data,
                                        const liana__fn_modes *modes, liana__arena *arena, liana__function_model *made,
                                        liana__error *error)
{
    *made = (liana__function_model){.fn = fn, .data = data, .arena = arena, .modes = *modes};
    made->function = (liana__leaf_function){.build = build_leaf, .user = made};
    made->function.gives_rows = modes->evaluate && modes->evaluate->kind == LIANA_MODE_PREDICT;
    LIANA_TRY(find_objective(made, error));
    return make_model(made, context, error);
}

void liana__function_model_destroy(liana__function_model *made)
{
    liana__user_update_free(&made->update);
    liana_model_destroy(made->model);
    made->model = NULL;
}
