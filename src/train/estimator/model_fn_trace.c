/* The facts that a call of a model function shows: the variables, which of them are trained, and which whole numbers
 * are looked up. */
#include "ir/graph.h"
#include "program/optimizer.h"
#include "train/estimator/model_fn_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

/* marked[id]: the loss depends on the node. Inputs of nodes have smaller ids. */
static void mark_loss(const liana__fn_call *call, bool *marked)
{
    const liana__node *loss = liana__tensor_node(call->spec.loss);
    marked[loss->id] = true;
    for (size_t id = loss->id; id > 0; id--) {
        const liana__node *node = call->graph->nodes[id];
        for (uint32_t i = 0; marked[id] && i < node->num_inputs; i++) marked[node->inputs[i]->id] = true;
    }
}

static bool is_average(const liana__fn_call *call, const liana__node *variable)
{
    for (size_t i = 0; i < call->num_updates; i++) {
        if (call->updates[i].variable.id == variable->id) return true;
    }
    return false;
}

static bool is_chosen(const liana__fn_call *call, const liana__node *variable)
{
    for (size_t i = 0; i < call->spec.num_variables; i++) {
        const liana_tensor chosen = call->spec.variables[i];
        if (chosen.graph == call->graph && chosen.id == variable->id) return true;
    }
    return false;
}

static liana_status check_chosen(liana__fn_call *call)
{
    for (size_t i = 0; i < call->spec.num_variables && call->spec.variables; i++) {
        const liana_tensor chosen = call->spec.variables[i];
        const liana__node *node = chosen.graph == call->graph ? liana__tensor_node(chosen) : NULL;
        if (node && liana__is_variable(node) && !is_average(call, node)) continue;
        return liana__fn_fail(call, chosen, "entry %zu of the spec's .variables is no variable that can be trained", i);
    }
    return LIANA_OK;
}

static void find_owner(liana__fn_variable *variable, const liana_model *const *models, size_t num_models)
{
    for (size_t i = 0; i < num_models; i++) {
        int found = liana__model_find_weight(models[i], variable->name);
        if (found < 0) continue;
        variable->model = models[i];
        variable->weight = (size_t)found;
    }
}

static bool is_trained(const liana__fn_call *call, const liana__node *node, const liana__fn_variable *variable,
                       const bool *marked)
{
    if (call->kind != LIANA_MODE_TRAIN) return false;
    if (call->spec.variables) return is_chosen(call, node);
    if (!marked[node->id] || is_average(call, node)) return false;
    return !variable->model || liana__weight_trainable(variable->model, variable->weight);
}

/* Names that the update uses itself. */
static bool is_reserved(const char *name)
{
    static const char *const reserved[] = {"sums", "count", "learning_rate", "iteration"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(name, reserved[i]) == 0) return true;
    }
    return false;
}

static liana_status add_variable(liana__fn_call *call, const liana__node *node, const liana_model *const *models,
                                 size_t num_models, const bool *marked)
{
    liana_tensor tensor = liana__node_tensor(call->graph, node);
    if (node->dtype != LIANA_F32) {
        return liana__fn_fail(call, tensor,
                              "the variable '%s' is %s, expected f32: other numbers are no part of a model", node->name,
                              liana__fn_type(call, tensor).text);
    }
    if (is_reserved(node->name)) {
        return liana__fn_fail(call, tensor, "a variable is called '%s', which updates use themselves", node->name);
    }
    liana__fn_variable *variable = &call->built.variables[call->built.num_variables++];
    *variable = (liana__fn_variable){.name = liana__arena_string(call->arena, node->name), .shape = node->shape};
    if (node->initializer) variable->initializer = liana__arena_string(call->arena, node->initializer);
    if (call->arena->failed) return liana__fn_fail(call, tensor, "out of memory for the variables");
    find_owner(variable, models, num_models);
    variable->trained = is_trained(call, node, variable, marked);
    return LIANA_OK;
}

static liana_status add_averages(liana__fn_call *call)
{
    liana__fn_built *built = &call->built;
    built->averages = liana__arena_allocate(call->arena, (call->num_updates + 1) * sizeof *built->averages);
    for (size_t i = 0; built->averages && i < call->num_updates; i++) {
        const liana_variable_update *update = &call->updates[i];
        built->averages[built->num_averages++] =
            (liana__fn_average){.variable = liana__arena_string(call->arena, liana_tensor_name(update->variable)),
                                .about = liana__arena_string(call->arena, liana_tensor_name(update->about)),
                                .momentum = update->momentum};
    }
    return call->arena->failed ? liana__fn_fail(call, (liana_tensor){0}, "out of memory for the variables") : LIANA_OK;
}

/* ---- whole numbers that are looked up ---- */

/* The component that a tensor has the numbers of; the number of components: none. */
static size_t find_component(const liana__fn_call *call, liana_tensor tensor)
{
    for (;;) {
        for (size_t i = 0; i < call->data->count; i++) {
            if (call->inputs[i].id && call->inputs[i].id == tensor.id) return i;
        }
        const char *op = liana_tensor_info(tensor).op;
        if (!op || (strcmp(op, "cast") != 0 && strcmp(op, "reshape") != 0)) return call->data->count;
        tensor = liana_tensor_input(tensor, 0);
    }
}

static int64_t last_dimension(liana_tensor tensor)
{
    liana_shape shape = liana_tensor_shape(tensor);
    return shape.rank ? shape.dims[shape.rank - 1] : 0;
}

/* The ops that look numbers up: *indices are those numbers, and the result is the size of the table. 0: another op. */
static int64_t count_looked_up(liana_tensor tensor, liana_tensor *indices)
{
    const char *op = liana_tensor_info(tensor).op;
    *indices = liana_tensor_input(tensor, 1);
    if (strcmp(op, "sparse_softmax_cross_entropy") == 0 || strcmp(op, "in_top_k") == 0) {
        return last_dimension(liana_tensor_input(tensor, 0));
    }
    if (strcmp(op, "gather") == 0) {
        liana_attribute axis;
        liana_shape table = liana_tensor_shape(liana_tensor_input(tensor, 0));
        return liana_tensor_find_attribute(tensor, "axis", &axis) ? table.dims[axis.integer] : 0;
    }
    return 0;
}

static void find_ids(liana__fn_call *call)
{
    for (size_t i = 0; i < liana_graph_count(call->graph, LIANA_GRAPH_NODES); i++) {
        liana_tensor indices;
        int64_t count = count_looked_up(liana_graph_nth(call->graph, LIANA_GRAPH_NODES, i).tensor, &indices);
        size_t component = count ? find_component(call, indices) : call->data->count;
        if (component == call->data->count || call->data->items[component].dtype != LIANA_S32) continue;
        int64_t *least = &call->built.num_ids[component];
        if (!*least || count < *least) *least = count;
    }
}

/* ---- the optimizer ---- */

static liana_status read_optimizer(liana__fn_call *call)
{
    if (call->kind != LIANA_MODE_TRAIN || call->given) return LIANA_OK;
    liana_optimizer_options options = call->spec.optimizer;
    liana__error error = {0};
    if (options.rate.id) {
        return liana__fn_fail(call, options.rate,
                              "the optimizer's .rate is a tensor; here it is a number or a schedule, such as "
                              "\"{name: Adam, learning_rate: {name: CosineDecay}}\"");
    }
    liana_status status =
        liana__optimizer_options_read(call->graph->context, &options, call->arena, &call->built.optimizer, &error);
    call->built.update = call->spec.update;
    if (status == LIANA_OK) return status;
    liana__fn_fail(call, (liana_tensor){0}, "%s", error.message);
    return call->graph->status = call->graph->context->error.status = status;
}

liana_status liana__fn_find_variables(liana__fn_call *call, const liana_model *const *models, size_t num_models)
{
    const liana_graph *graph = call->graph;
    liana__fn_built *built = &call->built;
    built->variables = liana__arena_allocate(call->arena, (graph->num_variables + 1) * sizeof *built->variables);
    bool *marked = calloc(graph->num_nodes + 1, sizeof *marked);
    liana_status status =
        built->variables && marked ? check_chosen(call) : liana__fn_fail(call, (liana_tensor){0}, "out of memory");
    if (status == LIANA_OK && call->kind == LIANA_MODE_TRAIN) mark_loss(call, marked);
    for (size_t i = 0; status == LIANA_OK && i < graph->num_variables; i++) {
        status = add_variable(call, graph->variables[i], models, num_models, marked);
    }
    free(marked);
    if (status != LIANA_OK) return status;
    LIANA_TRY(add_averages(call));
    find_ids(call);
    return read_optimizer(call);
}
