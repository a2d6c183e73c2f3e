/* Names: of tensors and of groups of assignments; initialisers and constraints of variables. */
#include "ir/graph.h"

/* The node that a name belongs to already, or NULL. */
static const liana__node *find_name(const liana_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->num_named; i++) {
        if (strcmp(graph->named[i]->name, name) == 0) return graph->named[i];
    }
    int input = liana__graph_find_input(graph, name), variable = liana__graph_find_variable(graph, name);
    return input >= 0 ? graph->inputs[input] : variable >= 0 ? graph->variables[variable] : NULL;
}

static bool add_name(liana_graph *graph, liana__node *node, const char *name)
{
    char *copy = liana__arena_string(&graph->arena, name);
    if (!copy || !liana__grow(&graph->named, graph->num_named, &graph->named_capacity, sizeof *graph->named)) {
        return false;
    }
    node->name = copy;
    graph->named[graph->num_named++] = node;
    return true;
}

void liana__graph_copy_name(liana_graph *graph, liana_tensor tensor, const char *name)
{
    liana__node *node = liana__tensor_node(tensor);
    if (!node || node->name || find_name(graph, name)) return;
    if (!add_name(graph, node, name)) {
        liana__graph_fail(graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for a tensor's name");
    }
}

liana_tensor liana_tensor_set_name_at(liana_location here, liana_tensor tensor, const char *name)
{
    liana_graph *graph = tensor.graph;
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    liana__node *node = liana__tensor_node(tensor);
    if (!node || !name || !*name) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%s '%.100s' needs %s", "liana_tensor_set_name",
                                 name ? name : "", node ? "a name" : "a tensor of the graph");
    }
    if (node->name && strcmp(node->name, name) == 0) return tensor;
    if (node->name) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "%s has its name already, and cannot be called '%.100s'", liana__node_print(node).text,
                                 name);
    }
    const liana__node *other = find_name(graph, name);
    if (other) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "the name '%.100s' is taken: %s of %s:%d has it; each tensor needs its own", name,
                                 other->op->name, other->where.file, other->where.line);
    }
    if (add_name(graph, node, name)) return tensor;
    return liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for a tensor's name");
}

const char *liana_tensor_name(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    return node ? node->name : NULL;
}

liana_tensor liana_graph_tensor(const liana_graph *graph, const char *name)
{
    if (!graph || !name) return (liana_tensor){0};
    int output = liana__graph_find_output(graph, name);
    return liana__node_tensor(graph, output >= 0 ? graph->outputs[output].node : find_name(graph, name));
}

/* ---- targets and initialisers ---- */

/* The index of the assignment to a variable; num_assignments if there is none. */
static size_t find_assignment(const liana_graph *graph, const liana__node *variable)
{
    size_t index = 0;
    while (index < graph->num_assignments && graph->assignments[index].variable != variable) index++;
    return index;
}

static void add_to_target(liana_location here, liana_graph *graph, const char *name, liana_tensor tensor)
{
    liana__node *variable = tensor.graph == graph ? liana__tensor_node(tensor) : NULL;
    if (!variable || !liana__is_variable(variable)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "the target '%.100s' is of assignments: expected variables of this graph, found %s", name,
                          variable ? liana__node_print(variable).text : "no tensor of it");
        return;
    }
    const size_t assignment = find_assignment(graph, variable);
    if (assignment == graph->num_assignments) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "the target '%.100s' names the variable '%s', to which nothing is assigned; use "
                          "liana_graph_assign first",
                          name, variable->name);
        return;
    }
    if (!liana__grow(&graph->targets, graph->num_targets, &graph->target_capacity, sizeof *graph->targets)) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return;
    }
    graph->targets[graph->num_targets++] = (liana__target){name, assignment};
}

void liana_graph_target_at(liana_location here, liana_graph *graph, const char *name, const liana_tensor *variables,
                           size_t count)
{
    if (!graph || graph->status != LIANA_OK) return;
    if (!name || !*name || !variables || count == 0) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "a target needs a name and variables");
        return;
    }
    const char *copy = liana__arena_string(&graph->arena, name);
    if (!copy) liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
    for (size_t i = 0; i < count && graph->status == LIANA_OK; i++) add_to_target(here, graph, copy, variables[i]);
}

liana_tensor liana_graph_initializer_at(liana_location here, liana_tensor variable, const char *initializer)
{
    liana_graph *graph = variable.graph;
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    liana__node *node = liana__tensor_node(variable);
    if (!node || !liana__is_variable(node) || !initializer) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "an initialiser needs a variable and a text such as \"zeros\"; found %s",
                                 !node                       ? "no tensor"
                                 : !liana__is_variable(node) ? liana__node_print(node).text
                                                             : "no text");
    }
    node->initializer = liana__arena_string(&graph->arena, initializer);
    if (node->initializer) return variable;
    return liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
}

/* ---- constraints ---- */

static liana__variable_constraint *find_constraint(const liana_graph *graph, const liana__node *variable)
{
    for (size_t i = 0; i < graph->num_constraints; i++) {
        if (graph->constraints[i].variable == variable) return &graph->constraints[i];
    }
    return NULL;
}

void liana__graph_constrain(liana_graph *graph, liana_location here, const liana__node *variable, const char *text)
{
    liana__variable_constraint *kept = find_constraint(graph, variable);
    const char *copy = liana__arena_string(&graph->arena, text);
    bool has_room = kept || liana__grow(&graph->constraints, graph->num_constraints, &graph->constraint_capacity,
                                        sizeof *graph->constraints);
    if (!copy || !has_room) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return;
    }
    if (!kept) kept = &graph->constraints[graph->num_constraints++];
    *kept = (liana__variable_constraint){variable, copy};
}

const char *liana__graph_constraint(const liana_graph *graph, const liana__node *variable)
{
    const liana__variable_constraint *kept = find_constraint(graph, variable);
    return kept ? kept->text : NULL;
}
