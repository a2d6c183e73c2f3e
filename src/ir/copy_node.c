/* Copies nodes into other graphs. */
#include "ir/copy_node.h"

#include "base/scoped.h"

#include <stdlib.h>

liana_tensor liana__copy_leaf(liana_graph *graph, const liana__node *node)
{
    if (liana__is_input(node)) return liana_graph_input_at(node->where, graph, node->name, node->dtype, node->shape);
    if (liana__is_variable(node)) {
        return liana_graph_variable_at(node->where, graph, node->name, node->dtype, node->shape);
    }
    return liana_graph_constant_at(node->where, graph, node->dtype, node->shape, liana__constant_data(node));
}

liana_tensor liana__copy_node(liana_graph *graph, const liana__node *node, const liana_tensor *map)
{
    if (liana__is_leaf(node)) return liana__copy_leaf(graph, node);
    LIANA__SCOPED_MEMORY liana_tensor *inputs = malloc((node->num_inputs + 1) * sizeof *inputs);
    if (!inputs)
        return liana__graph_fail(graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for a copy of a node");
    for (uint32_t i = 0; i < node->num_inputs; i++) inputs[i] = map[node->inputs[i]->id];
    return liana__build(node->where, graph, node->op, inputs, node->num_inputs, node->attributes);
}
